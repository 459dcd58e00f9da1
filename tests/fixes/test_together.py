"""All default fixes at once, in a process that has imported everything they repair: none of them fails.

The cells of the matrix arm one fix each. Two fixes that are right alone may be in each other's way.
"""

from __future__ import annotations

import random

import pytest

from tests import drawn
from tools.testbed.run import run

pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

RELEASES = (
    "4.36.2 4.37.2 4.38.2 4.39.3 4.40.2 4.41.2 4.42.4 4.43.4 4.44.2 4.45.2 4.46.3 4.47.1 4.48.3 4.49.0 4.50.3 4.51.3 "
    "4.52.4 4.53.3 4.54.1 4.55.4 4.56.2 4.57.1 4.57.6 5.0.0 5.1.0 5.2.0 5.3.0 5.5.3 5.9.0 5.13.0 5.17.0 5.20.0 5.23.0 "
    "5.24.0"
).split()
DRAWN = random.Random(drawn.commit()).choice(RELEASES)

PROGRAM = """
import contextlib, importlib, io, pathlib
import transformers

folder = pathlib.Path(transformers.__file__).parent
files = sorted(folder.glob("models/*/modeling_*.py"))
names = [path.relative_to(folder.parent).with_suffix("").parts for path in files]
names += [("transformers", name) for name in ("trainer", "trainer_seq2seq", "pipelines", "masking_utils")]
names += [("transformers", "generation", "utils"), ("transformers", "utils", "generic")]
imported = 0
for parts in names:
    if not parts[-1].startswith(("modeling_tf_", "modeling_flax_")):
        with contextlib.redirect_stderr(io.StringIO()), contextlib.suppress(Exception):
            importlib.import_module(".".join(parts))
            imported += 1
print("imported", imported)
assert imported > 200
import hotfix
for outcome in hotfix.report().outcomes:
    if outcome.state.name == "FAILED" or outcome.verdict.name == "FOREIGN":
        print(outcome.fix, outcome.target, outcome.reason)
"""


@pytest.mark.parametrize(
    "release", [pytest.param(each, marks=[] if each == DRAWN else pytest.mark.slow) for each in RELEASES]
)
def test_no_fix_fails_beside_the_others(release, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    settings = {"transformers": release, "flash_attn": None, "extras": ["accelerate==1.10.1", "pillow==11.3.0"]}
    done = run(program, hotfix=True, timeout=600, **settings).require()
    _, *lines = done.stdout.partition("imported ")[2].splitlines()  # 4.57 prints before
    assert not lines
