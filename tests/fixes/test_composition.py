"""Fixes that meet on one function compose in their declared order, whichever comes first, and are taken out one by one.

The meetings are found in the evidence, not listed. By default each is tried on its last release, with ``slow`` on all.
"""

from __future__ import annotations

import pytest
from packaging.version import Version

from tools import matrix
from tools.testbed.run import run

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.testbed


def meetings():
    broken = [cell for cell in matrix.every_cell() if cell.verdict == "broken"]
    shared: dict[tuple[str, Version], list[matrix.Cell]] = {}
    for cell in broken:
        shared.setdefault((str(cell.target), cell.release), []).append(cell)
    groups: dict[tuple[str, ...], list[tuple[Version, list[matrix.Cell]]]] = {}
    for (where, release), cells in shared.items():
        if len(cells) > 1:
            groups.setdefault((where, *sorted(cell.fix.id for cell in cells)), []).append((release, cells))
    for (where, *ids), releases in sorted(groups.items()):
        last = max(release for release, _ in releases)
        for release, cells in releases:
            marks = [] if release == last else [pytest.mark.slow]
            yield pytest.param(cells, id=f"{' '.join(ids)} {where.rpartition('.modeling_')[2]} {release}", marks=marks)


@pytest.mark.parametrize("cells", list(meetings()))
def test_fixes_of_one_function_compose_and_are_taken_out_one_by_one(cells):
    packages = dict(matrix.PACKAGES)
    for cell in cells:
        packages.update({name: version for name, version in cell.fix.case_spec.packages.items() if version is not None})
    flash_attn = packages.pop("flash-attn")
    result = run(
        "tests.fixes.composition:meeting",
        transformers=str(cells[0].release),
        flash_attn=flash_attn,
        extras=[f"{name}=={version}" if version else name for name, version in packages.items()],
        env={"CASE_MEETING": ",".join(cell.fix.id for cell in cells)},
        hotfix=False,
        target=cells[0].target,
    )
    tensors = {name: bool(value) for name, value in result.require().tensors.items()}
    names = (
        "each changes it",
        "all of them change it more than one",
        "the order of coming makes no difference",
        "the last that stays is as it is alone",
        "nothing is left",
    )
    assert tensors == dict.fromkeys(names, True)
