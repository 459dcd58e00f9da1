"""One checklist over all fixes: tracebacks, names, pickle, the way back, torch.compile and gradient checkpointing.

The fixes are found, not listed, so that a new one is held to all of it. Each is tried on a release in which its first
target is broken, with all that is on by default.
"""

from __future__ import annotations

from collections import Counter

import pytest
from packaging.version import Version

from hotfix.engine.catalogue import Catalogue
from tools import evidence, matrix
from tools.testbed.run import run

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

OWN = "hotfix.proofs.models._cases"  # the modules in place of those outside of transformers

# The reference of a case, and the ways in which it cannot be tested, with the reason.
AGAINST = {"compiled": "plain", "checkpointed": "training"}
NO_CACHE = "generation from a cache, which checkpointing switches off"
AN_ATTRIBUTE = "an attribute is read; what a model computes is untouched"
NOT_CHECKPOINTED = {
    "attention-mask-required": "attention alone, which has nothing to checkpoint",
    "attention-of-no-model": "layers alone, which nobody asks to checkpoint",
    "bert-layer-attn-implementation": "an encoder alone, which nobody asks to checkpoint",
    "blip2-prompt-without-image-tokens": NO_CACHE,
    "cache-from-batch-splits-values": NO_CACHE,
    "cache-layers-missing": NO_CACHE,
    "calls-of-other-releases": NO_CACHE,
    "clip-tower-attributes-removed": AN_ATTRIBUTE,
    "dynamic-cache-legacy-cache-removed": NO_CACHE,
    "dynamic-cache-of-unnamed-layers": "its model has no layers",
    "empty-cache-is-true": NO_CACHE,
    "extract-past-from-model-output-changed": NO_CACHE,
    "fa-peft-dtype-check": "layers are computed anew without the stand-in for autocast to CUDA",
    "fa2-right-padding-check": "JetMoe cannot checkpoint; others do in test_right_padding_methods.py",
    "fa2-sliding-window-mask-slicing": NO_CACHE,
    "fa2-unpad-input-five-values": NO_CACHE,
    "gemma2-cohere2-window-crash": NO_CACHE,
    "gemma2-sliding-layer-parity": NO_CACHE,
    "gemma4-kv-share-no-cache": f"{NO_CACHE}; the case has gradients with checkpointing itself",
    "generate-fa2-nameerror": NO_CACHE,
    "generation-calls-of-other-releases": NO_CACHE,
    "is-compiling-old-torch": "RT-DETR of these releases has no layers that can be checkpointed",
    "loop-without-cache-position": NO_CACHE,
    "mask-of-the-step-alone": NO_CACHE,
    "optimizer-train-old-accelerate": "a linear layer",
    "own-attention-without-the-cache": NO_CACHE,
    "own-cache-without-layers": NO_CACHE,
    "own-forward-with-past-key-values": NO_CACHE,
    "past-of-decoders-given-to-forward": NO_CACHE,
    "prepare-inputs-without-positions": NO_CACHE,
    "prepared-inputs-without-past-key-values": NO_CACHE,
    "qwen2vl-decode-delta-left-padding": NO_CACHE,
    "reorder-cache-not-implemented": NO_CACHE,
    "static-cache-no-shared-layers": NO_CACHE,
    "t5-block-without-cache-position": "a layer alone, which nobody asks to checkpoint",
    "trainer-calls-of-later-releases": "a linear layer",
    "unwrap-model-old-accelerate": "a linear layer",
    "use-sliding-window-false-ignored": NO_CACHE,
    "v5-all-tied-weights-keys-missing": "a model of one's own, which cannot checkpoint",
    "v5-generate-position-ids": NO_CACHE,
    "v5-generate-without-experts": "a model of one's own, which cannot checkpoint",
    "v5-loop-with-whole-ids": NO_CACHE,
    "v5-past-given-to-forward": NO_CACHE,
    "var-attention-dtype": "VAR has no layers that can be checkpointed",
    "vit-attentions-under-sdpa": "attention alone, which has nothing to checkpoint",
    "whisper-forced-ids-given": NO_CACHE,
    "whisper-longform-token-timestamps": NO_CACHE,
    "whisper-own-forced-ids-refused": NO_CACHE,
}
NOT_COMPILED = {
    **dict.fromkeys(
        (
            "replaced-layer-returns-a-tuple",
            "replaced-layer-without-attention-type",
            "replaced-layer-without-cache-position",
        ),
        "not repaired in a compiled model: the handlers of the program cannot be traced",
    ),
    "attention-of-no-model": "layers of no model, and where the error would be raised nothing is compiled",
    "clip-tower-attributes-removed": AN_ATTRIBUTE,
    "is-compiling-old-torch": "the compiler of today's torch needs the function that the case removes",
    "maskformer-swin-mask-dtype": "not repaired in a compiled model: torch cannot trace the error",
    "trainer-own-optimizer-ignored": "weights after four steps at a large rate, in which rounding grows",
    "v5-past-given-to-forward": "a compiled Bark of 5.3.0 has a wrong mask behind any cache",
    "var-attention-dtype": "torch cannot trace the backward pass of xformers; tests/fixes/models/test_var.py",
}
# One function, called with numbers; arguments, configurations or files, and nothing is computed. Those of processors
# and those that convert have no model either, and are not listed.
NO_MODEL = {
    "arguments-of-later-releases",
    "arguments-renamed",
    "autoconfig-register-known-type",
    "cache-get-max-length-minus-one",
    "cache-layers-by-keys-alone",
    "check-model-inputs-with-brackets",
    "crop-to-a-length",
    "deepspeed-prefetch-bucket-float",
    "detached-values-of-other-types",
    "dtype-argument-missing",
    "dynamic-module-dot-in-folder",
    "early-initialization-of-linear-layers",
    "extended-mask-device-by-position",
    "fa2-varlen-kwargs-ignored",
    "flex-block-mask-batch",
    "hybrid-cache-window-hole",
    "image-processors-without-videos",
    "json-of-a-quantization",
    "loading-arguments-removed",
    "masks-of-later-releases",
    "mxfp4-swiglu-limit",
    "own-outputs-with-past-key-values",
    "pad-to-max-length-removed",
    "parser-flags-removed",
    "processor-optional-attributes-removed",
    "qwen2-audio-audios-argument",
    "qwen25vl-v5-temporal-position-collapse",
    "qwen3vl-v5-video-stopiteration",
    "qwenvl-v5-stale-rope-deltas-forward",
    "qwenvl-v5-token-types-left-out",
    "remote-pad-without-padding-side",
    "rope-scaling-type-removed",
    "rotary-applied-with-positions",
    "rotary-by-dimension",
    "rotary-by-length",
    "text-before-images",
    "tokenizer-calls-of-later-releases",
    "trainer-processing-class-missing",
    "trainer-rng-state-torch26-no-safe-globals",
    "trainer-tmp-checkpoint-rename-race",
    "training-args-eval-strategy-missing",
    "training-args-evaluation-strategy-removed",
    "training-args-of-later-releases",
    "unmask-unattended-of-a-mask",
    "v5-apply-chat-template-returns-dict",
    "v5-caches-of-pairs",
    "v5-config-generation-defaults-removed",
    "v5-decode-by-position",
    "v5-gemma3-token-type-ids-required",
    "v5-guard-of-missing-package",
    "v5-is-package-available-tuple",
    "v5-segment-ids-not-returned",
    "v5-tokenizer-methods-removed",
    "whole-word-mask-by-tokens",
}
LET_OFF = {
    "checkpointed": {**dict.fromkeys(NO_MODEL, "no model in the case"), **NOT_CHECKPOINTED},
    "compiled": {**dict.fromkeys(NO_MODEL, "no model in the case"), **NOT_COMPILED},
}
ENTRIES = Catalogue(lambda sentence: None).entries
ROUNDING = 1e-6  # of the norm of a gradient in float32: autograd adds its parts in another order, without a fix, too


def fixes():
    chosen = []
    modules = evidence.discover(lambda problem: None, proofs=True)
    releases: dict[tuple[str, str], set[str]] = {}
    for cell in matrix.every_cell():
        if cell.verdict == "broken":
            releases.setdefault((cell.fix.id, cell.target.key), set()).add(str(cell.release))
    for module, fix in modules.items():
        # Names that are added take no function's place; tests/fixes/names tests them.
        target = next((candidate for candidate in fix.targets if not candidate.way.adds_name), None)
        if target is None:
            continue
        broken = releases.get((fix.id, target.key), {"4.51.3"})
        if "*" in target.module:
            target = target.in_module(target.module.replace("*", OWN))
        chosen.append((module, fix, target, broken))
    return [
        pytest.param(module, fix, target, release, id=fix.id)
        for release, module, fix, target in sorted(_in_few_releases(chosen), key=lambda row: _place(row[0], *row[2:]))
    ]


def _in_few_releases(chosen):
    """A release in which its target is broken for each, so that there are few different ones."""
    left = list(chosen)
    while left:
        counts = Counter(release for *_, broken in left for release in broken)
        release = max(counts, key=lambda count: (counts[count], Version(count)))
        yield from ((release, *row) for *row, broken in left if release in broken)
        left = [row for row in left if release not in row[-1]]


def _place(release, fix, target):
    """Cases that run one after another in one process: it has imported a release and armed hotfix for all of them."""
    return Version(release), str(sorted(_packages(fix).items())), bool(_switches(fix, target)), fix.id


def _packages(fix):
    return {name: version or "none" for name, version in {**matrix.PACKAGES, **fix.case_spec.packages}.items()}


def _switches(fix, target):
    """Those that turn on fixes that are off by default."""
    ids = [fix.id, *fix.case_spec.with_fixes]
    return _alone(fix) if target.optin or any(ENTRIES[id].optin for id in ids) else {}


def _alone(fix):
    ids = ",".join([fix.id, *fix.case_spec.with_fixes])
    return {"HOTFIX_ONLY": ids, "HOTFIX_OPTIN": ids}


def checked(check, module, fix, target, release, **switches):
    packages = {**matrix.PACKAGES, **fix.case_spec.packages}
    beside = {name.replace("-", "_"): packages.pop(name, None) for name in ("flash-attn", "xformers")}
    extras = [f"{name}=={version}" if version else name for name, version in packages.items() if version is not None]
    switches = {**switches, "CASE_CHECKLIST": module}
    case = f"tests.fixes.checklist:{check}"
    return run(case, transformers=release, **beside, extras=extras, env=switches, target=target).require()


@pytest.mark.parametrize(("module", "fix", "target", "release"), fixes())
def test_a_repaired_function_is_an_ordinary_function(module, fix, target, release):
    results = checked("ordinary", module, fix, target, release, **_switches(fix, target))
    tensors = {name: bool(value) for name, value in results.tensors.items()}
    names = (
        "something was repaired",
        "tracebacks show lines that exist",
        "pickle",
        "names, signature and docstring are upstream's",
        "revert leaves nothing",
        "nothing watches any more",
    )
    assert tensors == dict.fromkeys(names, True)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["compiled", "checkpointed"])
@pytest.mark.parametrize(("module", "fix", "target", "release"), fixes())
def test_the_case_gives_the_same_when_its_models_are(way, module, fix, target, release):
    if module.startswith("hotfix.processing."):
        pytest.skip("a processor: no model to compile or to checkpoint")
    if any(place.converts for place in fix.targets) or module.startswith("hotfix.loading."):
        pytest.skip("it reads files: nothing of it runs in a model")
    if reason := LET_OFF[way].get(fix.id):
        pytest.skip(reason)
    got = checked(way, module, fix, target, release, **_alone(fix)).tensors
    expected = checked(AGAINST[way], module, fix, target, release, **_alone(fix)).tensors
    assert got.pop("models"), "no model of the case was compiled, or can checkpoint its layers"
    assert got.keys() == expected.keys()
    assert [
        name for name, tensor in got.items() if not _equal(tensor, expected[name], rounded="gradient" in name)
    ] == []


def _equal(first, other, rounded):
    if not rounded or first.dtype != torch.float32:
        return first.equal(other)
    return first.shape == other.shape and bool((first - other).norm() <= ROUNDING * other.norm())
