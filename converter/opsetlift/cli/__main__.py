"""`python -m opsetlift.cli`, the same as `opsetlift`."""

import sys

from opsetlift.cli.main import main

sys.exit(main())
