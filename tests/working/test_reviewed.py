"""Programs that are right without hotfix, and that hotfix once changed: they print the same again, and stay so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.testbed.run import run, run_program

pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

_, *PARTS = re.split(r"^== (.+) \| (.+)\n", Path(__file__).with_name("reviewed.txt").read_text("utf-8"), flags=re.M)
# One worker has those of a release, one after the other: the process that holds it ready is used again.
PROGRAMS = [
    pytest.param(text, release, id=f"{name}-{release}", marks=pytest.mark.shares(f"reviewed {release}"))
    for release, name, text in sorted(
        (release, name, text)
        for name, releases, text in zip(PARTS[::3], PARTS[1::3], PARTS[2::3])
        for release in releases.split()
    )
]


NEEDED = {
    "from pydantic": "pydantic==2.14.4",
    "from PIL": "pillow==11.3.0",
    "AutoImageProcessor": "pillow==11.3.0",
    "DetrImageProcessor": "pillow==11.3.0",
    "Qwen2VLImageProcessor": "pillow==11.3.0",
    "image_processing_qwen2_vl": "pillow==11.3.0",
    "AutoVideoProcessor": "torchvision==0.28.0",
    "ImageProcessorFast": "torchvision==0.28.0",
}


# What depends on being the first to import something, or on threads, runs in a fresh interpreter.
FRESH = re.compile(
    r"sys\.(path|modules)|import .*, transformers\.|meta_path|importlib|_getframe|threading|distributed|hotfix|\bgc\."
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("text", "release"), PROGRAMS)
def test_a_program_that_is_right_prints_the_same(text, release, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(text, encoding="utf-8")
    release, _, accelerate = release.partition("+")
    extras = [f"accelerate=={accelerate or '1.15.0'}"]
    extras += sorted({extra for word, extra in NEEDED.items() if word in text})
    flash = "2.7.4.post1" if text.startswith("# with flash-attn") else None
    settings = {"transformers": release, "flash_attn": flash, "extras": extras}
    of = run if FRESH.search(text) else run_program
    stock, armed = (of(program, hotfix=hotfix, **settings).require() for hotfix in (False, True))
    assert "itself failed" not in armed.stderr
    lines = [[line for line in done.stdout.splitlines() if "_runtime" not in line] for done in (stock, armed)]
    assert lines[0]
    assert lines[1] == lines[0]
