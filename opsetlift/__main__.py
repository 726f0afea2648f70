"""`python -m opsetlift`, the same as `opsetlift`."""

import sys

from opsetlift import main

sys.exit(main())
