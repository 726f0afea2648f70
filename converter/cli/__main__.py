"""`python -m converter.cli`, the same as `opsetlift`."""

import sys

from converter.cli.main import main

sys.exit(main())
