"""``python -m hotfix``."""

import sys

from .commands.main import main

sys.exit(main())
