"""``python -m tools.parity``: see `tools.parity.runner`."""

from tools.parity.runner import main

raise SystemExit(main())
