"""``hotfix verify``: a plugin with cases of every kind, quickly; and the real case of a founding fix, marked slow."""

from __future__ import annotations

import importlib.util
import json
import textwrap

import pytest

from tests.commands import schemas
from tests.commands.cli_runs import ROOT, hotfix, stack
from tests.facts import lacking

pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="the proofs need torch")

TOY = """
def scale(x):
    return x + 2


def crash(x):
    raise ValueError("scales nothing")


def wrong_twice(x):
    raise ValueError("still wrong")


def fine(x):
    return x * 2
"""

STRANGE = """
def drift(x):
    return x - 7


def hole(x):
    return x * float("nan")
"""

FATAL = """
def deadly(x):
    return x + 2


def slow(x):
    return x + 2
"""

FIXES = """
import os, time
from pathlib import Path
from hotfix import Fix

NAMES = ("scale", "crash", "wrong_twice", "fine", "drift", "hole", "deadly", "slow")  # four are not always there
EVIDENCE = Path(__file__).with_name("evidence.json")
FIX = Fix(id="toys", title="Toys add", kind="silent", fixed_in="2.0", evidence=EVIDENCE)


@FIX.replaces(*(f"transformers.toy:{name}" for name in NAMES if name != "wrong_twice"))
def scale(x):
    return x * 2


@FIX.replaces("transformers.toy:wrong_twice")
def wrong_twice(x):
    raise ValueError("wrong again")


@FIX.recognises
def is_broken(node):
    return True


@FIX.case
def case(testbed, target):
    import torch
    import transformers.toy as toy

    if target.qualname == "deadly":
        os._exit(7)
    if target.qualname == "slow":
        time.sleep(600)
    return {"scaled": getattr(toy, target.qualname)(torch.tensor([3.0, 5.0]))}
"""


MEETING = """
from pathlib import Path
from hotfix import Fix

EVIDENCE = Path(__file__).with_name("evidence.json")
FIX = Fix(
    id="toys",
    title="Toys add",
    kind="silent",
    fixed_in="2.0",
    evidence=EVIDENCE,
)
MET = Fix(id="met", title="Toys crash", kind="crash", fixed_in="2.0", evidence=EVIDENCE)


@FIX.replaces("transformers.toy:scale", "transformers.toy:wrong_twice")
def scale(x):
    return x * 2


@MET.replaces("transformers.toy:crash")
def crash(x):
    return x


@FIX.recognises
@MET.recognises
def is_broken(node):
    return True


@FIX.case(with_fixes=("toys:met",), packages={"no-such-distribution": ""})
def case(testbed, target):
    import torch
    import transformers.toy as toy

    if target.qualname == "wrong_twice":
        import no_such_module
    return {"scaled": toy.scale(toy.crash(torch.tensor([3.0, 5.0])))}
"""


def toys(folder, text, fixes=FIXES, named="FIX"):
    """A fake release with these functions, and a plugin with all of them as targets."""
    from hotfix.versions import source

    files = {
        "transformers/__init__.py": '__version__ = "1.0"\n',
        "transformers/toy.py": text,
        "toy_fixes/__init__.py": fixes,
        "toys-1.dist-info/entry_points.txt": f"[hotfix.fixes]\ntoys = toy_fixes:{named}\n",
        "fixed/transformers/__init__.py": '__version__ = "2.0"\n',
        "fixed/transformers/toy.py": text.replace("x + 2", "x * 2"),
    }
    names = [line[4 : line.index("(")] for line in text.splitlines() if line.startswith("def ")]
    definitions = [(name, source.find(text, name)) for name in names]
    digests = {name: source.digest(definition.node) for name, definition in definitions if definition}
    targets = {f"transformers.toy:{name}": {"broken": {digest: ["1.0"]}} for name, digest in digests.items()}
    files["toy_fixes/evidence.json"] = json.dumps({"targets": targets})
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(textwrap.dedent(content))
    return folder


def verified(folder, *words):
    """The certificate for the toys, and the proofs in it by function."""
    env = {"CUDA_VISIBLE_DEVICES": "", "HOTFIX_SKIP": "*"}  # the user's own switches do not count
    done = hotfix("verify", "toys:toys", "--json", *words, path=[folder], env=env)
    assert done.status == int(any(proof["result"] == "failed" for proof in done.json["proofs"]))
    return done.json, {proof["target"].partition(":")[2]: proof for proof in done.json["proofs"]}


@pytest.mark.drawn(4, "long")
def test_a_proof_reports_the_outcome_of_its_processes(tmp_path):
    """One that differs, one that stops raising, one that still raises, one without a bug."""
    toys(tmp_path, TOY)
    certificate, proofs = verified(tmp_path, "--against", str(tmp_path / "fixed"))
    schemas.check("verify", certificate)
    assert certificate["packages"]["transformers"] == "1.0"
    assert certificate["device"].startswith("CPU")
    assert not certificate["flash_attention"]
    scale = proofs["scale"]
    assert (scale["result"], scale["changed"], scale["oracle"]) == ("verified", 3.0, 0.0)
    assert (proofs["crash"]["before"], proofs["crash"]["after"]) == ("ValueError: scales nothing", "ran")
    assert "fixed release raises" in proofs["crash"]["reason"]
    assert proofs["fine"]["result"] == "not shown"
    assert lacking(proofs["fine"]["reason"], "shows no bug", "torch", "Python") == []
    assert proofs["wrong_twice"]["result"] == "failed"
    assert "CUDA" not in proofs["wrong_twice"]["reason"]


def test_a_case_that_meets_another_bug_has_that_repaired_before_and_after(tmp_path):
    """A fix that needs a missing package is not reported as failed."""
    toys(tmp_path, TOY, MEETING, "BOTH")
    with (tmp_path / "toy_fixes" / "__init__.py").open("a") as file:
        file.write("BOTH = [FIX, MET]\n")
    _, proofs = verified(tmp_path)
    scale = proofs["scale"]
    assert (scale["result"], scale["before"], scale["changed"]) == ("verified", "ran", 3.0)
    assert proofs["wrong_twice"]["result"] == "not here"
    assert "needs no-such-distribution" in proofs["wrong_twice"]["reason"]


@pytest.mark.drawn(4, "long")
def test_the_oracle_decides_and_nan_is_a_difference(tmp_path):
    toys(tmp_path, STRANGE)
    _, proofs = verified(tmp_path, "--against", str(tmp_path / "fixed"))
    drift, hole = proofs["drift"], proofs["hole"]
    assert (drift["result"], drift["oracle"]) == ("failed", 12.0)
    assert lacking(drift["reason"], "fixed release", "another result", "scaled") == []
    assert (hole["result"], hole["changed"], hole["oracle"]) == ("failed", "infinite", "infinite")
    _, proofs = verified(tmp_path)
    assert {proof["result"] for proof in proofs.values()} == {"verified"}


@pytest.mark.slow
def test_a_process_that_dies_or_hangs_takes_no_other_proof_with_it(tmp_path):
    toys(tmp_path, FATAL + TOY)
    _, proofs = verified(tmp_path, "--timeout", "30")
    assert "ended with 7" in proofs["deadly"]["after"]
    assert "30 seconds" in proofs["slow"]["after"]
    assert {name for name, proof in proofs.items() if proof["result"] == "verified"} == {"scale", "crash"}


def test_there_may_be_nothing_to_prove():
    done = hotfix("verify", "fa2-right-padding-check", env={"CUDA_VISIBLE_DEVICES": ""})
    assert (done.status, done.stderr) == (0, "")
    assert "nothing to prove" in done.stdout
    for words in (["no-such-fix"], ["zero3-from-config-skips-init"], ["--against", "/nowhere"]):
        done = hotfix("verify", *words)
        assert (done.status, done.stderr.count("\n")) == (2, 1)


@pytest.mark.parametrize("width", [60, 200, None])
def test_a_certificate_says_what_its_numbers_are_on_every_screen(capsys, width):
    from hotfix.commands import screen
    from hotfix.commands.verify import command as verify

    said = verify.Proof("toys", "toys.toy:scale", verify.VERIFIED, "It ran.", "ValueError: no", "ran", 0.25, 0.0)
    certificate = {
        "hotfix": "1.0",
        "digest": "0123456789ab",
        "date": "2026-01-01T00:00:00+00:00",
        "python": "3.11.7",
        "system": "Linux x86_64",
        "device": "none",
        "flash_attention": False,
        "packages": {"transformers": "4.49.0"},
        "oracle": None,
    }
    out = screen.Screen()
    out.console, out.width = None, width
    verify._print(out, certificate, [said])
    shown = " ".join(capsys.readouterr().out.split())
    wanted = (
        ["before: ValueError: no", "after: ran", "changed by 0.25", "0 from the fixed release"]
        if width == 60
        else ["result fix function before after changed by to fixed release", "ValueError: no ran 0.25 0"]
    )
    for words in (*wanted, "none; --against DIR names a folder with a fixed release", "does not run on it"):
        assert words in shown


ENVIRONMENT = {
    "TORCH_DEVICE_BACKEND_AUTOLOAD": "1",
    "TRITON_INTERPRET": "1",
    "CUDA_VISIBLE_DEVICES": "",
    "TOKENIZERS_PARALLELISM": "false",
}


@pytest.mark.testbed
@pytest.mark.slow
def test_a_founding_fix_is_verified_on_the_testbed_against_the_fixed_release():
    testbed = [ROOT / "tools" / "testbed" / "path", ROOT, *stack("4.49.0", "2.7.4.post1")]
    words = ["verify", "flash-rotary-dtype", "--against", str(stack("4.50.0")[0])]
    done = hotfix(*words, "--json", path=testbed, env=ENVIRONMENT)
    assert done.status == 0
    (proof,) = done.json["proofs"]
    assert proof["result"] == "verified"
    assert lacking(proof["before"], "AssertionError: ", "the same dtype") == []
    assert (proof["after"], proof["oracle"]) == ("ran", 0.0)
    shown = hotfix(*words, path=testbed, env=ENVIRONMENT, terminal=True)
    assert (
        lacking(
            shown.text,
            "verified: flash-rotary-dtype",
            "qwen2_5_vl:apply_rotary_pos_emb_flashatt",
            "before: AssertionError",
        )
        == []
    )
    assert lacking(shown.text, "torch.bfloat16", "after: ran", "0 from") == []
    shown = hotfix(*words, path=testbed, env=ENVIRONMENT, terminal=True, columns=200)
    assert "verified flash-rotary-dtype" in shown.text


@pytest.mark.testbed
@pytest.mark.slow
def test_a_proof_that_cannot_run_here_is_not_verified():
    done = hotfix("verify", "flash-rotary-dtype", path=stack("4.49.0", "2.7.4.post1"), env={"CUDA_VISIBLE_DEVICES": ""})
    assert done.status == 1
    assert "Nothing was proved" in done.stdout
    assert lacking(done.stdout, "cannot be verified", "CUDA device") == []
    assert "verified  flash" not in done.stdout


@pytest.mark.drawn(4, "long")
@pytest.mark.testbed
def test_a_repair_that_waits_for_an_error_that_nobody_handles_is_verified():
    words = ("verify", "get-imports-guarded-flash-attn", "--json")
    done = hotfix(*words, path=stack("4.49.0", None), env={"CUDA_VISIBLE_DEVICES": ""})
    assert [proof["result"] for proof in done.json["proofs"]] == ["verified"]


def test_a_torch_that_cannot_be_imported_is_an_error_of_the_command(tmp_path):
    (tmp_path / "torch.py").write_text("raise OSError('libcudart.so.12: cannot open shared object file')\n")
    done = hotfix("verify", "adamw-removed", path=(tmp_path,))
    assert done.status == 2
    assert lacking(done.stderr, "torch", "libcudart.so.12") == []
    assert "Traceback" not in done.stderr


def test_explain_imports_no_proof_which_would_import_torch():
    done = hotfix("explain", "adamw-removed", flags=("-X", "importtime"))
    assert "hotfix verify adamw-removed" in done.text
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "json" in imported
    assert "torch" not in imported
