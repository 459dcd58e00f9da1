"""``python -m tests.cuda``: see `tests.cuda.runner`."""

from tests.cuda.runner import main

raise SystemExit(main())
