"""Child program: hotfix next to another package that also changes or loads modules. See test_beside_others.

Run as ``python -m tools.beside NEIGHBOUR ORDER``; the last line of its output is JSON.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module, util
from pathlib import Path
from typing import Any, Optional

CHECKED = "transformers.modeling_flash_attention_utils"  # modules that type checkers watch; they refuse the Trainer


def axolotl() -> None:
    """It rewrites the source of `Trainer.training_step`, and replaces the function by the result."""
    import_module("axolotl.monkeypatch.trainer_grad_accum").patch_training_step_for_ga()


def unsloth() -> None:
    """The same; its package needs a GPU at import, so this takes the functions out of its file."""
    spec = util.find_spec("unsloth")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    text = (Path(spec.submodule_search_locations[0]) / "models" / "_utils.py").read_text(encoding="utf-8")
    wanted = {"patch_gradient_accumulation_fix", "_unsloth_get_batch_samples", "_unsloth_pre_compute_loss"}
    tree = ast.parse(text)
    tree.body = [node for node in tree.body if getattr(node, "name", "") in wanted]
    names: dict[str, Any] = {"re": import_module("re"), "__name__": "unsloth.models._utils"}
    exec(compile(tree, "unsloth/models/_utils.py", "exec"), names)
    names["patch_gradient_accumulation_fix"](import_module("transformers").Trainer)


def liger() -> None:
    """It replaces functions, classes and forwards of modeling files."""
    liger_kernel = import_module("liger_kernel.transformers")
    liger_kernel.apply_liger_kernel_to_qwen2_vl(cross_entropy=False, fused_linear_cross_entropy=True)


def typeguard() -> None:
    """Its finder comes first, and its loader checks types in every function."""
    import_module("typeguard").install_import_hook(CHECKED)


def jaxtyping() -> None:
    """Likewise, with a decorator around every function."""
    import_module("jaxtyping").install_import_hook(CHECKED, None)


def beartype() -> None:
    """Likewise, in a hook of `sys.path_hooks`."""
    import_module("beartype.claw").beartype_package(CHECKED)


def birdseye() -> None:
    """Its finder comes first and gets the source of each module from the others."""
    sys.meta_path.insert(0, import_module("birdseye.import_hook").BirdsEyeFinder())


def snoop() -> None:
    """It traces calls, through a name that it adds to the builtins."""
    import_module("snoop").install(out=lambda text: None)


@dataclass(frozen=True)
class Neighbour:
    """Another package.

    Attributes:
        acts: its behaviour in a program that uses it.
        packages: the release of transformers with which it is tested, if not `RELEASE`; packages installed together
            with that; and packages installed alone, without their requirements.
    """

    acts: Callable[[], None]
    packages: tuple[str, tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True)
class Cell:
    """The expected observations next to a neighbour.

    Attributes:
        does: the neighbour's behaviour, for the table of the documentation.
        factor: the gradients of four micro-batches of an encoder, as multiples of those of one batch; None if the
            neighbour does not support such a model.
        target: the fix and function in the report.
        outcome: the verdict and the state.
        reason: a pattern of the reason.
        means: the same, for the table.
    """

    does: str
    factor: Optional[float]
    target: str
    outcome: str
    reason: str
    means: str


RELEASE = "4.47.1"
WITHOUT = 4.0  # on these releases the gradients are this many times too large
_TRAINING = ("accelerate==1.1.1", "peft==0.14.0")
NEIGHBOURS = {
    "axolotl": Neighbour(axolotl, ("4.47.0", _TRAINING, ("axolotl==0.6.0",))),
    "liger": Neighbour(liger, ("", _TRAINING, ("liger-kernel==0.5.2",))),
    "typeguard": Neighbour(typeguard, ("", (*_TRAINING, "typeguard==4.4.1"), ())),
    "jaxtyping": Neighbour(jaxtyping, ("", (*_TRAINING, "jaxtyping==0.2.36"), ())),
    "beartype": Neighbour(beartype, ("", (*_TRAINING, "beartype==0.19.0"), ())),
    "birdseye": Neighbour(birdseye, ("", (*_TRAINING, "birdseye==0.10.0"), ())),
    "snoop": Neighbour(snoop, ("", (*_TRAINING, "snoop==0.6.0"), ())),
    "unsloth": Neighbour(unsloth, ("", _TRAINING, ("unsloth==2025.1.5",))),
}

_STEP = "trainer-ga-multiplied-loss transformers.trainer:Trainer.training_step"
_FLASH = f"fa-sliding-window-off-by-one {CHECKED}:_flash_attention_forward"
_REPAIRED = (1.0, _STEP, "broken, applied", "Its body was edited", "Repaired.")
_SINCE = "Theirs runs; the report says `foreign`, replaced since, and where."
_FIRST = "Theirs runs and stays; `foreign`, with a warning."
_REWRITES = "puts a rewritten `Trainer.training_step` in place"
_CHECKS = "checks types in a module that it compiles itself"
CELLS = {
    ("axolotl", "hotfix first"): Cell(_REWRITES, 4.0, _STEP, "foreign, failed", "replaced since by <string>:1", _SINCE),
    ("axolotl", "hotfix last"): Cell(_REWRITES, 4.0, _STEP, "foreign, skipped", "Somebody else has put", _FIRST),
    ("unsloth", "hotfix first"): Cell(
        _REWRITES, None, _STEP, "foreign, failed", "replaced since by <string>:1", _SINCE
    ),
    ("unsloth", "hotfix last"): Cell(_REWRITES, None, _STEP, "foreign, skipped", "Somebody else has put", _FIRST),
    **{
        (name, order): Cell(_CHECKS, 1.0, _FLASH, outcome, reason, means)
        for order in ("hotfix first", "hotfix last")
        for name, outcome, reason, means in (
            (
                "typeguard",
                "unknown, skipped",
                "is not what runs",
                "That module stays as it is: `unknown`, with a warning.",
            ),
            (
                "jaxtyping",
                "foreign, skipped",
                "jaxtyping.* around it",
                "That module stays as it is: `foreign`, with a warning.",
            ),
            (
                "beartype",
                "foreign, skipped",
                "beartype.* around it",
                "That module stays as it is: `foreign`, with a warning.",
            ),
        )
    },
    **{
        (name, order): Cell(does, *_REPAIRED)
        for order in ("hotfix first", "hotfix last")
        for name, does in (
            ("liger", "exchanges forwards and layers of a model"),
            ("birdseye", "has an import hook that asks all others for their sources"),
            ("snoop", "traces calls"),
        )
    },
}


# Packages that watch a program from outside, on the tests' toy: rows of the same table, with their tests.
WATCHERS = (
    (
        "coverage 7.10.7, which counts lines, on Python 3.11, 3.12 and 3.13",
        "It starts the program.",
        "Repaired; its lines are counted as before.",
        "test_coverage_counts_the_lines_of_a_repaired_function",
    ),
    (
        "pytest, which rewrites the assertions of a module",
        "That module stays as it is: `unknown`, with a warning.",
        "That module stays as it is: `unknown`, with a warning.",
        "test_a_module_that_pytest_has_rewritten_is_unknown",
    ),
)


def main(neighbour: str, order: str) -> None:
    """Run the neighbour, before hotfix or after it, and print the resulting gradients and report."""
    if order == "hotfix first":
        import hotfix.auto
    NEIGHBOURS[neighbour].acts()
    if order == "hotfix last":
        import hotfix

        hotfix.apply()
    print("\n" + json.dumps({"factors": factors(), "report": reported()}))


def factors() -> dict[str, Any]:
    """Gradients of four micro-batches, as multiples of those of one batch; None if a neighbour supports no such model.

    Of a model whose loss takes no number of labels (encoder), and of one whose loss does (decoder).
    """
    from hotfix.proofs.testbed import Testbed
    from hotfix.proofs.training._steps import one_step
    from hotfix.proofs.zoo import classified, small_bert, small_llama, texts

    factors: dict[str, Any] = {}
    with Testbed("cpu") as testbed:
        for name, make, data in (("encoder", small_bert, classified), ("decoder", small_llama, texts)):
            samples = data(testbed)
            try:
                parts = one_step(make(testbed), samples, gradient_accumulation_steps=len(samples))
                whole = one_step(make(testbed), samples, per_device_train_batch_size=len(samples))
            except AttributeError:  # unsloth's functions look for the inner model inside one with adapters
                factors[name] = None
            else:
                factors[name] = round(_norm(parts) / _norm(whole), 3)
    return factors


def _norm(values: dict[str, Any]) -> float:
    squares = [float((value.double() ** 2).sum()) for name, value in values.items() if name.startswith("gradient")]
    return float(sum(squares) ** 0.5)


def reported() -> dict[str, list[str]]:
    """The report on each target that is not merely absent, fixed or unaffected: verdict, state, reason."""
    if "hotfix" not in sys.modules:
        return {}
    import hotfix

    return {
        f"{outcome.fix} {outcome.target}": [outcome.verdict.value, outcome.state.value, outcome.reason]
        for outcome in hotfix.report()
        if outcome.state.value not in ("disabled", "pending")
        and outcome.verdict.value not in ("absent", "fixed", "unaffected")
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
