"""Lines of programs for 5.x on older releases: what runs gives the same with hotfix, and much of what ends runs."""

from __future__ import annotations

import pytest

from ._lines import check

pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

# Those that end with hotfix, too, in one of the releases, and why.
_ALGORITHM = "the release has no code that does it"
_SUPPORT = "the release asks for another form, and does not say which"
_TUPLES = "the model returns tuples of tensors"
_LATER_LIST = "the model returns a list of numbers, which is a right answer of the release"
_TENSOR = "the method returns a tensor, which is a right answer of the release"
_FILE = "the constructor takes files"
STILL_END = {}
