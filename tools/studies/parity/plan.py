"""The plan: the runs, and their comparisons.

An `Entry` is one fix in one broken release and one dtype. It says how to run the case, what it raises without hotfix,
and which other runs the repaired one must agree with:

    fixed      the first fixed release: the same arithmetic, so the same bits; or, where upstream has changed other
               things in between, the same within the rounding of the dtype
    unchecked  the same release without hotfix, on a path that does not reach the bug: the same bits
    float32    eager attention with all arithmetic in float32: no further away than twice what eager attention in the
               same dtype is (`Reference.beside`), which is how flash-attn judges its kernels
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from hotfix import proofs, session
from hotfix.fix import Fix, Target

FLASH_ATTN, XFORMERS = "2.7.4.post1", "0.0.35"
ROUNDING = {"bfloat16": 2e-2, "float16": 4e-3}
"""Largest difference between two orders of the same operations, as part of the largest number in a tensor."""


@dataclass(frozen=True)
class Run:
    """One run of one case in a fresh interpreter.

    Attributes:
        case: ``module:function``, called with a `hotfix.proofs.testbed.Testbed` and `given`.
        given: the attributes of its second argument.
        transformers: release, or None for none.
        flash_attn: as `transformers`.
        xformers: as `transformers`.
        hotfix: id of the fix that is armed, or empty.
    """

    case: str
    given: Mapping[str, Any] = field(default_factory=dict)
    transformers: str | None = None
    flash_attn: str | None = None
    xformers: str | None = None
    hotfix: str = ""


@dataclass(frozen=True)
class Reference:
    """The run that the repaired run is compared with.

    Attributes:
        run: the other run.
        bound: largest difference, as part of the largest number in a tensor; 0 for the same bits.
        beside: another run: `bound` is ignored, and the distance from `run` may be twice that of this one.
        reason: why the bound is what it is.
    """

    run: Run
    bound: float = 0.0
    beside: Run | None = None
    reason: str = "the same arithmetic"


@dataclass(frozen=True)
class Entry:
    """One row of the table; see the module.

    Attributes:
        name: unique; parts joined by slashes.
        fix: id.
        target: ``module:qualname``.
        dtype: of weights and activations.
        off: the run without hotfix.
        raises: a pattern, searched for in ``AssertionError: and the message``, as in `CaseSpec`; if empty, it raises
            anything, or gives other tensors than ``fixed``.
        references: by name.
    """

    name: str
    fix: str
    target: str
    dtype: str
    off: Run
    raises: str
    references: Mapping[str, Reference]

    @property
    def on(self) -> Run:
        """The run with hotfix."""
        return replace(self.off, hotfix=self.fix)

    def runs(self) -> dict[str, Run]:
        """Every run, by what it is."""
        others = {name: reference.run for name, reference in self.references.items()}
        beside = {f"beside {name}": reference.beside for name, reference in self.references.items() if reference.beside}
        return {"off": self.off, "on": self.on, **others, **beside}


# How large things are: on a GPU as in the real models, on a CPU as small as the code allows.
SIZES: dict[str, dict[str, dict[str, Any]]] = {
    "real": {
        # The vision encoder of Qwen2.5-VL-3B, two of its blocks; two pictures, 5,632 patches.
        "vision": {
            "config": {
                "depth": 2,
                "hidden_size": 1280,
                "intermediate_size": 3420,
                "num_heads": 16,
                "out_hidden_size": 2048,
                "window_size": 112,
                "fullatt_block_indexes": [1],
            },
            "grid": [[1, 64, 64], [1, 32, 48]],
        },
        # Two layers of Qwen2-7B.
        "decoder": {
            "config": {
                "vocab_size": 1024,
                "hidden_size": 3584,
                "intermediate_size": 18944,
                "num_hidden_layers": 2,
                "num_attention_heads": 28,
                "num_key_value_heads": 4,
                "max_position_embeddings": 4096,
            },
            "batch": [8, 4096],
        },
        # A block of VAR-d16 at 256 x 256: 680 tokens.
        "var": {"width": 1024, "heads": 16, "sides": [1, 2, 3, 4, 5, 6, 8, 10, 13, 16], "batch": 8},
    },
    "tiny": {
        "vision": {
            "config": {
                "depth": 2,
                "hidden_size": 64,
                "intermediate_size": 128,
                "num_heads": 4,
                "out_hidden_size": 64,
                "window_size": 56,
                "fullatt_block_indexes": [1],
            },
            "grid": [[1, 4, 8], [1, 4, 4]],
        },
        "decoder": {
            "config": {
                "vocab_size": 64,
                "hidden_size": 128,
                "intermediate_size": 96,
                "num_hidden_layers": 2,
                "num_attention_heads": 8,
                "num_key_value_heads": 2,
                "max_position_embeddings": 64,
            },
            "batch": [3, 12],
        },
        "var": {"width": 64, "heads": 2, "sides": [2, 2, 4], "batch": 2},
    },
}

ROTARY, PADDING, VAR = "flash-rotary-dtype", "fa2-right-padding-check", "var-attention-dtype"
"""The founding fixes."""

_ROTARY = "Input and cos/sin must have the same dtype"
_PADDING = "padding_side='right'"
_VAR = {
    "memory_efficient_attention": "Query/Key/Value should either all have the same dtype",
    "flash_attn_func": "FlashAttention only support",
}


def fixes() -> dict[str, Fix]:
    """The fixes of models and attention, by id, with their cases."""
    fixes = {}
    for entry in session.current().catalogue.entries.values():
        if entry.module.startswith("hotfix.models."):
            fixes[entry.id] = entry.load()
            proofs.load(entry.module, fixes[entry.id])
    return fixes


def entries(size: str) -> list[Entry]:
    """The plan: every target of the founding fixes, and them at the widths of real models; of the others one target.

    A new fix of a model is in it by itself. The fixes of the Trainer and of processors are not: they decide what is
    divided and resized, on any device.

    Args:
        size: a key of `SIZES`; the cases that the fixes bring have sizes of their own.
    """
    return [*_cases(), *_others(), *_wide(SIZES[size])]


def releases(chosen: list[Entry]) -> dict[str, list[str]]:
    """The releases that entries need, oldest first, by distribution."""
    runs = [run for entry in chosen for run in entry.runs().values()]
    releases = {
        "transformers": {run.transformers for run in runs},
        "flash-attn": {run.flash_attn for run in runs},
        "xformers": {run.xformers for run in runs},
    }
    return {name: sorted((release for release in those if release), key=Version) for name, those in releases.items()}


# ---------------------------------------------------------------------------------------------------------------------
# Below: the cases that the fixes bring, each on its targets.

# A decoder that refuses padding is taken in the first of these releases that is broken, and compared with the next of
# those below it. Releases from 4.42 to 4.44 would refuse the numpy of today's machines.
_BROKEN_IN = ("4.52.4", "4.49.0", "4.41.2", "4.53.1")
_FIXED_IN = ("4.47.1", "4.50.0", "4.53.1", "4.56.2", "5.2.0")
_ROTARY_RELEASES = {
    "transformers.models.qwen2_5_vl.modeling_qwen2_5_vl": ("4.49.0", "4.50.0"),
    "transformers.models.qwen2_5_omni.modeling_qwen2_5_omni": ("4.52.4", "4.53.1"),
}

# Where the next fixed release is no oracle: it has fused the weights of the experts, which are then filled otherwise.
# These two are compared with the last release before the bug.
_INSTEAD = {
    "PhimoeModel._update_causal_mask": ("4.52.4", "4.47.1"),
    "Qwen2MoeModel._update_causal_mask": ("4.52.4", "4.47.1"),
}


def _cases() -> Iterator[Entry]:
    for id in (ROTARY, PADDING, VAR):
        fix = fixes()[id]
        for target in fix.targets:
            given = {"module": target.module, "qualname": target.qualname}
            off = Run(_case(fix), given)
            if id == VAR:
                off, raises, references = _through(off, target.qualname), _VAR[target.qualname], {}
            elif id == ROTARY:
                broken, fixed = _ROTARY_RELEASES[target.module]
                off = replace(off, transformers=broken, flash_attn=FLASH_ATTN)
                references, raises = {"fixed": Reference(replace(off, transformers=fixed))}, _ROTARY
            else:
                broken, fixed = _padding_releases(target)
                off = replace(off, transformers=broken, flash_attn=FLASH_ATTN)
                later = Reference(
                    replace(off, transformers=fixed),
                    ROUNDING["bfloat16"],
                    reason="upstream has reordered other operations since",
                )
                same = Reference(replace(off, case="tools.studies.parity.cases:padding_unchecked"))
                references, raises = {"fixed": later, "unchecked": same}, _PADDING
            where = f"{target.module.rpartition('modeling_')[2].rpartition('.')[2]}:{target.qualname}"
            yield Entry(f"case/{fix.id}/{where}", fix.id, target.key, "bfloat16", off, raises, references)


# In place of the newest broken release and its oracle: two that the plan needs anyway, or whose code is closer.
_CHOSEN = {
    "fa-sliding-window-off-by-one": ("4.53.3", "4.56.0"),
    "gemma3-bidirectional-across-images": ("4.50.0", "4.52.4"),
    "gemma3-mask-image-distance-heuristic": ("4.53.1", "4.54.0"),
    "idefics-smolvlm-position-ids": ("5.17.0", "5.21.0"),
    "qwen2vl-text-position-ids-from-mrope": ("4.56.2", "4.57.1"),
}


def _others() -> Iterator[Entry]:
    for fix in fixes().values():
        if fix.id in (ROTARY, PADDING, VAR):
            continue
        broken, fixed = _CHOSEN.get(fix.id) or _newest(fix)
        target = next(target for target in fix.targets if broken in SpecifierSet(target.releases))
        off = Run(_case(fix), {"module": target.module, "qualname": target.qualname}, broken, FLASH_ATTN)
        references = {"fixed": Reference(replace(off, transformers=fixed))} if fixed else {}
        yield Entry(f"case/{fix.id}", fix.id, target.key, "bfloat16", off, fix.case_spec.raises, references)


def _newest(fix: Fix) -> tuple[str, str]:
    """The newest release in which any target is broken, and the oracle: what the case names, or the next; or none."""
    examined = session.current().catalogue.examined()
    number, target = max(
        ((examined.index(release), target) for target in fix.targets for release in _broken(target, examined)),
        key=lambda pair: pair[0],
    )
    oracles = fix.case_spec.oracles
    following = examined[number + 1] if number + 1 < len(examined) else ""
    return examined[number], oracles.get(target.key, oracles.get("*", following))


def _broken(target: Target, examined: Sequence[str]) -> Iterator[str]:
    return SpecifierSet(target.releases).filter(examined) if target.releases else iter(())


def _case(fix: Fix) -> str:
    assert fix.proof is not None
    return f"{fix.proof.__module__}:{fix.proof.__name__}"


def _padding_releases(target: Target) -> tuple[str, str]:
    """A release in which the target is broken, and the next of ours in which nothing of its class is."""
    if target.qualname in _INSTEAD:
        return _INSTEAD[target.qualname]
    kind = (target.module, target.qualname.partition(".")[0])
    ranges = [
        SpecifierSet(target.releases)
        for target in fixes()[PADDING].targets
        if (target.module, target.qualname.partition(".")[0]) == kind
    ]
    broken = next(release for release in _BROKEN_IN if release in SpecifierSet(target.releases))
    later = (release for release in _FIXED_IN if Version(release) > Version(broken))
    return broken, next(release for release in later if not any(release in broken_in for broken_in in ranges))


# ---------------------------------------------------------------------------------------------------------------------
# Below: the widths of real models.


def _wide(sizes: Mapping[str, Mapping[str, Any]]) -> Iterator[Entry]:
    for dtype in ROUNDING:
        common = {"dtype": dtype, "attn": "flash_attention_2", "exact": False}
        for module, (broken, fixed) in _ROTARY_RELEASES.items():
            name = module.rpartition("modeling_")[2]
            target = next(target for target in fixes()[ROTARY].targets if target.module == module)
            off = Run(
                "tools.studies.parity.cases:vision", {**common, **sizes["vision"], "module": module}, broken, FLASH_ATTN
            )
            references = {"fixed": Reference(replace(off, transformers=fixed)), **_eager(off, fixed)}
            yield Entry(f"wide/vision/{name}/{dtype}", ROTARY, target.key, dtype, off, _ROTARY, references)
        off = Run(
            "tools.studies.parity.cases:decoder",
            {**common, **sizes["decoder"], "use_cache": True},
            "4.49.0",
            FLASH_ATTN,
        )
        references = {
            "fixed": Reference(
                replace(off, transformers="4.53.1"),
                ROUNDING[dtype],
                reason="upstream has reordered other operations since",
            ),
            "unchecked": Reference(replace(off, given={**off.given, "use_cache": False})),
            **_eager(off, "4.53.1"),
        }
        key = "transformers.models.qwen2.modeling_qwen2:Qwen2Model._update_causal_mask"
        yield Entry(f"wide/decoder/{dtype}", PADDING, key, dtype, off, _PADDING, references)
        for operator, raises in _VAR.items():
            given = {**common, **sizes["var"], "qualname": operator, "state": "nothing cast"}
            off = _through(Run("tools.studies.parity.cases:var", given), operator)
            references = {
                "fixed": Reference(replace(off, given={**given, "state": "fixed"})),
                **_eager(off, None),
            }
            key = f"*.basic_var:{operator}"
            yield Entry(f"wide/var/{operator}/{dtype}", VAR, key, dtype, off, raises, references)


def _eager(off: Run, release: str | None) -> dict[str, Reference]:
    """The reference in float32, next to eager attention in the dtype of `off`."""
    eager = replace(off, given={**off.given, "attn": "eager"}, transformers=release)
    exact = replace(eager, given={**eager.given, "exact": True})
    return {"float32": Reference(exact, beside=eager, reason="at most twice the distance of eager attention")}


def _through(run: Run, operator: str) -> Run:
    """VAR's block needs no transformers; xformers must not find flash-attn, which it would call in its place."""
    through_flash = operator == "flash_attn_func"
    return replace(run, flash_attn=FLASH_ATTN) if through_flash else replace(run, xformers=XFORMERS)
