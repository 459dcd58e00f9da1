"""``prepare_inputs_for_generation`` no longer cuts tokens that the cache has.

Symptom   Silent: a custom decoding loop, written for 4.x, computes wrong results from its second token on.
Cause     It passes all tokens together with a cache, and the method passes all of them to the model, on top of those in
          the cache. ``generate()`` says how many are new (``next_sequence_length``), and until 5.2 the positions said
          so.
Releases  5.3.0 and later
Upstream  not put back
Here      Tokens that the cache has are left out if nothing says how many are new and the attention mask is exactly as
          long as the tokens: with the cache it would be too short for them. That is so only for the library's own
          ``eager`` and ``sdpa`` attention, which read such a mask; FlashAttention may drop it, and a function of the
          program's may ignore it. The tokens must begin with those of the previous call for this cache, or with those
          of the call that made it; otherwise they may be a new part of the text, and none is left out. That is so for a
          cache that was filled without this method, too. Code gets what the release returns if it does anything
          with the inputs but pass them to this model as a whole, or changes other items than these, or crops a cache:
          it may cut the tokens itself. So may a forward or a hook of the program's. Without a mask, for encoder-decoder
          models, and in a graph of ``torch.compile``, all tokens are passed, as in the release.
"""

from __future__ import annotations

import ast
import dis
import sys
from functools import wraps
from types import CodeType, FunctionType
from typing import Any, Callable, Optional
from weakref import WeakKeyDictionary

from hotfix._support.memo import weakly
from hotfix.asking._bytecode import Code
from hotfix.fix import Fix
from hotfix.names.cache_names import steps_of
from hotfix.patching import compiling, hooks, scope

_OF_AUDIO = "its tokens are codes of audio, which custom loops do not pass"

FIX = Fix(
    title="A decoding loop that passes all tokens together with a cache computes wrong results from 5.3 on",
    kind="silent",
    group="removed-names",
    everyone="only for a mask that is too short for cache and tokens together, and attention of the library's that "
    "reads it: the new code tests it",
    exempt={
        f"transformers.models.{folder}.modeling_{folder}:{name}.prepare_inputs_for_generation": _OF_AUDIO
        for folder, names in {
            "musicgen": ("MusicgenForConditionalGeneration",),
            "musicgen_melody": ("MusicgenMelodyForCausalLM", "MusicgenMelodyForConditionalGeneration"),
        }.items()
        for name in names
    },
    prefilter="next_sequence_length",
)

_previous: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
"""The tokens of the last call for each cache."""

_first: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
"""The tokens of the last call without a cache, by model: it makes one of them."""

_NAMES = ("input_ids", "next_sequence_length", "past_key_values", "attention_mask", "inputs_embeds")


@FIX.wraps(("transformers.generation.utils:GenerationMixin.prepare_inputs_for_generation", ">=5.3.0"))
def with_the_number(original: Callable[..., Any]) -> Callable[..., Any]:
    """Say how many tokens are new where a loop of 4.x does not."""

    @wraps(original)
    def prepare(*args: Any, **kwargs: Any) -> Any:
        if compiling.is_compiling() or not args:  # the release's own decorator refuses a model that is given by name
            return original(*args, **kwargs)
        model, given = args[0], {**dict(zip(_NAMES, args[1:])), **kwargs}
        try:
            new = new_tokens(model, given)
        except Exception as error:  # such as of a cache of the program's own
            new = None
            scope.undecided(FIX.id, error)
        remember(model, given)
        if new is None:
            return original(*args, **kwargs)
        if len(args) > 2:
            return original(*args[:2], new, *args[3:], **kwargs)
        return original(*args, **{**kwargs, "next_sequence_length": new})

    return prepare


def new_tokens(model: Any, given: dict[str, Any]) -> Optional[int]:
    """How many tokens are not in the cache; None if the program or the release says so, or if it cannot be known."""
    cache, mask = cache_of(given), given.get("attention_mask")
    ids: Any = given.get("input_ids")
    if cache is None or mask is None or given.get("next_sequence_length") is not None:
        return None
    if given.get("inputs_embeds") is not None or model.config.is_encoder_decoder:
        return None
    if getattr(ids, "ndim", 0) != 2 or getattr(mask, "ndim", 0) != 2 or mask.shape != ids.shape:
        return None
    length = int(cache.get_seq_length()) if hasattr(cache, "get_seq_length") else 0
    if not 0 < length < ids.shape[1] or not reads_masks(model) or not continues(model, cache, ids, length):
        return None
    return int(ids.shape[1]) - length if is_passed_on(sys._getframe(1), model) else None


def cache_of(given: dict[str, Any]) -> Any:
    """The cache among the arguments; it is called ``cache`` from 5.24.0 on."""
    cache = given.get("past_key_values")
    return given.get("cache") if cache is None else cache


def reads_masks(model: Any) -> bool:
    """Whether the library's own attention runs, in a form that reads a mask of any length."""
    config = model.config.get_text_config(decoder=True)
    name = config._attn_implementation
    if name not in ("eager", "sdpa"):
        return False
    tables = (
        sys.modules["transformers.modeling_utils"].ALL_ATTENTION_FUNCTIONS,
        sys.modules["transformers.masking_utils"].ALL_MASK_ATTENTION_FUNCTIONS,
    )
    modules = list(model.modules())
    parts = [part for part in modules if "attention" in type(part).__name__.lower() or hasattr(part, "base_model")]
    return (
        all(scope.is_own(FIX.id, table.get(name)) for table in tables)
        and all(scope.is_own(FIX.id, part, "forward") for part in parts)
        and all(map(_only_reads, (hook for part in modules for hook in part._forward_pre_hooks.values())))
    )


def _only_reads(hook: Any) -> bool:
    """Whether a hook leaves the inputs of a module as they are."""
    function = getattr(hook, "__func__", hook)
    reads = isinstance(function, FunctionType) and hooks.only_reads(function.__code__)
    return reads or scope.is_own(FIX.id, hook, library="accelerate")


def continues(model: Any, cache: Any, ids: Any, length: int) -> bool:
    """Whether each row of tokens begins with a row of the previous call for this cache, in any order as by beam search.

    Args:
        model: the model.
        cache: the cache; false if its tokens are not known.
        ids: of shape (batch, tokens).
        length: how many tokens are in the cache.
    """
    before = _previous.get(cache)
    if before is None:
        before = _first.get(model)
        if before is None or before.shape[1] != length:
            return False
    length = min(length, before.shape[1])
    rows = before[None, :, :length].to(ids.device) == ids[:, None, :length]
    return bool(rows.all(-1).any(-1).all())


def remember(model: Any, given: dict[str, Any]) -> None:
    """Keep the tokens of a call as long as its cache lives; ``generate()`` says how many are new, and is left out."""
    cache = cache_of(given)
    ids: Any = given.get("input_ids")
    if getattr(ids, "ndim", 0) != 2 or given.get("next_sequence_length") is not None:
        return
    if cache is None:
        _first[model] = ids.detach().clone()
    elif hasattr(cache, "get_seq_length"):
        try:
            _previous[cache] = ids.detach().clone()
        except TypeError:  # the cache has no hash, or takes no weak reference
            return


_ITEMS = ("input_ids", "attention_mask", "position_ids", "past_key_values", "cache", "inputs_embeds")
_LIBRARIES = ("transformers", "hotfix", "peft")


def is_passed_on(frame: Any, model: Any) -> bool:
    """Whether the program passes the inputs to the model as they are.

    Args:
        frame: one below that of the program.
        model: the model.
    """
    for _ in range(5):
        while frame is not None and _is_of_a_library(str(frame.f_globals.get("__name__"))):
            frame = frame.f_back
        use = None if frame is None else use_of_result(frame.f_code, frame.f_lasti)
        if use != "returned":
            return use == "passed" and all(_is_of(model, _value(frame, name)) for name in called(frame))
        frame = frame.f_back
    return False


def called(frame: Any) -> tuple[tuple[str, ...], ...]:
    """The callees of a frame that get the inputs, by the parts of their names: ``self.model``; no parts for others."""
    return _called(frame.f_code, frame.f_lasti)


@weakly
def _called(object_: CodeType, at: int) -> tuple[tuple[str, ...], ...]:
    steps, number = _steps(object_, at)
    kept = steps[number + 1]
    name = kept.argval[0] if kept.opname == "STORE_FAST_LOAD_FAST" else kept.argval
    merges = [after for step, after in zip(steps, steps[1:]) if after.opname == "DICT_MERGE" and name in _loaded(step)]
    if kept.opname == "DICT_MERGE":
        merges = [kept]
    code = Code(object_)
    calls = (
        next(step.offset for step in steps if step.offset > merge.offset and step.opname == "CALL_FUNCTION_EX")
        for merge in merges
    )
    return tuple(_name(code, code.call(call)[0]) for call in calls)


def _name(code: Code, at: int) -> tuple[str, ...]:
    """The parts of a name that instructions load; none if it is not a name."""
    parts: list[str] = []
    while at >= 0 and code.name(at) in ("LOAD_ATTR", "LOAD_METHOD"):
        parts.append(code.named(at))
        at = code.pushed_by(at)
    if at < 0:
        return ()
    if code.name(at) in ("LOAD_FAST_LOAD_FAST", "STORE_FAST_LOAD_FAST"):  # Python 3.13
        first: Optional[str] = code.object.co_varnames[code.loads(at)[-1][1]]
    else:
        first = code.named(at) if code.name(at) in ("LOAD_GLOBAL", "LOAD_NAME") else code.local(at)
    return () if first is None else (first, *reversed(parts))


def _value(frame: Any, name: tuple[str, ...]) -> Any:
    """The value of a name in a frame, without descriptors of the program's; None if it is not known."""
    if not name:
        return None
    value = frame.f_locals.get(name[0], frame.f_globals.get(name[0]))
    for part in name[1:]:
        held = getattr(value, "__dict__", {})
        modules = held.get("_modules") or {}
        if part not in ("forward", "__call__") or part in held:
            value = held.get(part, modules.get(part))
    return value


def _is_of(model: Any, thing: Any) -> bool:
    """Whether something is a model, or a wrapper around it that passes its inputs on."""
    if thing is model:
        return True
    package = type(thing).__module__.partition(".")[0]
    return package in _WRAPPING and any(part is model for part in thing.modules())


_WRAPPING = ("accelerate", "deepspeed", "peft", "torch")


def _is_of_a_library(module: str) -> bool:
    return module.partition(".")[0] in _LIBRARIES and not module.startswith("hotfix.proofs.")  # it stands for programs


@weakly
def use_of_result(code: CodeType, at: int) -> Optional[str]:
    """What a function does with the dict that a call returns: ``passed`` as ``**inputs``, ``returned``, or None.

    None as well if it may change the items that belong to the cache, or the cache.

    Args:
        code: the code of the function.
        at: the offset of the call.
    """
    steps, number = _steps(code, at)
    if not 0 <= number < len(steps) - 1 or {"crop", "reset"} & {*code.co_names}:
        return None
    step = steps[number + 1]
    if step.opname in _USES:
        return _USES[step.opname]
    name = step.argval[0] if step.opname == "STORE_FAST_LOAD_FAST" else step.argval
    if step.opname.startswith("STORE_FAST_STORE") or not step.opname.startswith(("STORE_FAST", "STORE_NAME")):
        return None
    uses = set()
    for step, after, then in zip(steps, steps[1:], [*steps[2:], steps[-1]]):
        loaded = _loaded(step)
        if name in loaded:
            uses.add(None if name in loaded[:-1] else _use(after, then))
    uses.discard("another item")
    return uses.pop() if len(uses) == 1 else None


def _steps(code: CodeType, at: int) -> tuple[list[dis.Instruction], int]:
    """The instructions of a code, and which of them is at an offset, or has its cache there."""
    steps = [step for step in steps_of(code) if step.opname != "CACHE"]
    return steps, sum(step.offset <= at for step in steps) - 1


_USES = {"DICT_MERGE": "passed", "RETURN_VALUE": "returned"}


def _use(after: dis.Instruction, then: dis.Instruction) -> Optional[str]:
    """How the instructions after the load of the inputs use them."""
    if after.opname in ("LOAD_ATTR", "LOAD_METHOD") and after.argval in ("get", "pop", "setdefault"):
        is_item, key = then.opname == "LOAD_CONST", then.argval
    else:
        is_item, key = after.opname == "LOAD_CONST" and "SUBSCR" in then.opname + then.argrepr, after.argval
    if is_item and isinstance(key, str) and key not in _ITEMS:
        return "another item"
    return _USES.get(after.opname)


def _loaded(step: dis.Instruction) -> tuple[Any, ...]:
    """The variables that an instruction loads."""
    if not any(kind in step.opname for kind in ("LOAD_FAST", "LOAD_NAME", "LOAD_GLOBAL", "LOAD_DEREF")):
        return ()
    names = step.argval if isinstance(step.argval, tuple) else (step.argval,)
    return names[1:] if step.opname.startswith("STORE_") else names


@FIX.recognises
def passes_all(function: ast.FunctionDef) -> bool:
    """One that cuts tokens only by the number that it is given."""
    return function.name == "prepare_inputs_for_generation" and "input_ids[:, -next_sequence_length:]" in ast.unparse(
        function
    )
