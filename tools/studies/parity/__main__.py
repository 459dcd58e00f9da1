"""``python -m tools.studies.parity``: see `tools.studies.parity.runner`."""

from tools.studies.parity.runner import main

raise SystemExit(main())
