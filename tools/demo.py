"""`make demo`: the same training script twice on transformers 4.49.0 with flash-attn 2.7.4, without and with hotfix.

The machine needs no GPU: flash-attn's Python code and its rotary kernel are the real ones, and the attention kernel is
the one of `tools/testbed`. The exit status is 1 if either half does not behave as expected.
"""

from __future__ import annotations

import re
import sys
import tempfile
from functools import partial
from pathlib import Path

from tools.testbed.run import Result, run_script

SCRIPT = Path(__file__).parents[1] / "examples" / "train_qwen2_5_vl.py"
on_stack = partial(run_script, transformers="4.49.0", flash_attn="2.7.4.post1", extras=("Pillow", "scikit-image"))
ROTARY = "flash-rotary-dtype"
ASSERTION = "AssertionError: Input and cos/sin must have the same dtype, got torch.float32 and torch.bfloat16"
# The end of the second script: whether the fix for this error is in use. hotfix itself counts its repairs, at exit.
STATUS = f"""
import hotfix
applied = {{one.fix for one in hotfix.report() if one.state is hotfix.State.APPLIED}}
print("{ROTARY}:", "repaired" if "{ROTARY}" in applied else "not repaired")
"""


def main() -> int:
    """Run both halves; return the exit status."""
    print("Setting up transformers 4.49.0 and flash-attn 2.7.4.post1 ...", flush=True)
    print(f"\n1. python {SCRIPT.name}\n", flush=True)
    broken = on_stack(SCRIPT)
    show(broken, last=6)
    if broken.returncode == 0 or ASSERTION not in broken.stderr:
        print("\nThis should have died of the assertion of flash-attn's rotary kernel, and did not.")
        return 1

    print("\n2. The same script with `import hotfix.auto` as its first line\n", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        repaired = Path(folder) / SCRIPT.name
        repaired.write_text(f"import hotfix.auto\n{SCRIPT.read_text()}{STATUS}")
        trained = on_stack(repaired)
    show(trained, last=40)
    repairs = re.search(r"^hotfix: (\d+ repairs? for transformers \S+?)[,;]", trained.stderr, re.M)
    is_repaired = f"{ROTARY}: repaired" in trained.stdout
    if trained.returncode or "evaluation: loss" not in trained.stdout or not is_repaired or not repairs:
        print("\nThis should have trained and evaluated, and did not.")
        return 1
    if not trained.flash_calls.get("flash_attn_varlen_func"):
        print("\nFlash attention was not called.")
        return 1
    print("\nWhat happened:")
    print("- without hotfix the script died in its first step, of")
    print(f"  {ASSERTION}")
    print(f"- with `import hotfix.auto` it trained and evaluated, with {repairs[1]}; {ROTARY} is one of them")
    print("- no file was changed: the functions were exchanged in the process. `hotfix status` lists the repairs.")
    return 0


def show(result: Result, last: int) -> None:
    """Print the output of a script, and the last lines of its errors."""
    print(result.stdout, end="")
    print("\n".join(result.stderr.strip().splitlines()[-last:]))


if __name__ == "__main__":
    sys.exit(main())
