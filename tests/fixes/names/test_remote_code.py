"""Remote code of 4.41, written for these tests like the most downloaded files, on releases since then.

`remote_code` has the files, `remote_run` is what a child does with them. Each result has to be that of 4.41.2.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tools.testbed.run import run_script

torch: Any = pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

HERE = Path(__file__).parent
WRITTEN_FOR = "4.41.2"
DEFAULT, SLOW = ("4.57.6",), ("4.41.2", "4.46.3", "4.49.0", "4.53.3", "5.3.0", "5.23.0")


def run(release: str, folder: Path, armed: bool) -> dict[str, Any]:
    """The outcome of each file on a release."""
    results = folder / "results.pt"
    arguments = [str(HERE / "remote_code"), str(results), *(["--hotfix"] if armed else [])]
    env = {"HOTFIX_OPTIN": "removed-names", "HF_MODULES_CACHE": str(folder / "modules"), "HF_HUB_OFFLINE": "1"}
    run_script(HERE / "remote_run.py", arguments, transformers=release, flash_attn=None, env=env).require()
    outcomes: dict[str, Any] = torch.load(results)
    return outcomes


@cache
def expected(folder: Path) -> dict[str, Any]:
    """Their outcome on the release they were written for, without hotfix."""
    outcomes = run(WRITTEN_FOR, folder, armed=False)
    assert not [pair for pair in outcomes.items() if isinstance(pair[1], str)]
    return outcomes


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return expected(tmp_path_factory.mktemp("oracle"))


@pytest.mark.parametrize("release", [*DEFAULT, *(pytest.param(version, marks=pytest.mark.slow) for version in SLOW)])
@pytest.mark.shares("remote code")
def test_remote_code_gives_the_same_results_as_before(release: str, oracle: dict[str, Any], tmp_path: Path) -> None:
    outcomes = run(release, tmp_path, armed=True)
    assert {name: value for name, value in outcomes.items() if isinstance(value, str)} == {}
    assert outcomes.keys() == oracle.keys()
    for name, value in oracle.items():
        assert torch.allclose(outcomes[name].double(), value.double(), rtol=1e-4, atol=1e-5), name
