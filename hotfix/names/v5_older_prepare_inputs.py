"""``generate()`` does not pass what a ``prepare_inputs_for_generation`` of an older release reads.

Symptom   ``RuntimeError: The size of tensor a (11) must match the size of tensor b (6) at non-singleton dimension 3``
          or ``ValueError: Attention weights should be of size …`` in the second step; ``AttributeError: 'NoneType'
          object has no attribute 'shape'`` or ``TypeError: 'NoneType' object is not subscriptable`` at
          ``cache_position``; ``AttributeError: 'NoneType' object has no attribute 'index_select'`` in
          ``_reorder_cache``. Remote code written for 4.36 to 4.57: InternLM2, MiniCPM, DeepSeek-VL2, Phi-3, Nemotron-H
          and many others.
Cause     Since 5.3.0 such code is passed the positions of all tokens, which it does not cut; since 5.4.0 no
          ``cache_position``; since 5.18.0 no mask of ones. Since 5.0.0 a loop over the layers of a cache also yields
          their windows, and since 5.13.0 ``get_max_length()`` is -1, by which such code cuts the mask.
Releases  5.0.0 and later
Upstream  not repaired
Here      If a step fails in this way, and the program does not handle the error, ``generate()`` starts again with what
          4.57.6 passed: no positions that the caller has not passed, the ``cache_position`` of the new tokens, the
          mask, and pairs of keys and values for ``_reorder_cache``; a cache without a maximum gives None for it. The
          random generators are set back, and a streamer does not get a token twice. The error stays if the caller
          passes a cache, an assistant, encoder outputs, a processor of logits or a stopping criterion, or has hooks in
          the model; and if the second run fails, too. The first step is computed twice; with the opt-in
          ``v5-generate-position-ids``, the positions are not passed from the outset.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial, wraps
from typing import Any, Callable, NamedTuple, Optional

from hotfix.fix import Fix
from hotfix.names import caches, restarts
from hotfix.patching import compiling, scope

FIX = Fix(
    title="remote code of 4.x crashes in the second step of generate(): sizes do not match, or cache_position is None",
    kind="removed-api",
    group="removed-names",
    errors=(
        "ValueError: Attention weights should be of size …, but is …",
        "AttributeError: 'NoneType' object has no attribute 'index_select'",
    ),
    prefilter="_sliding_window_tensor",
    everyone="only after a step of a model with older code has failed, which the program does not handle",
    order=-1,  # within tuple-model-given-a-cache, which starts again for the first step
)

_FAILS = (RuntimeError, ValueError, AttributeError, TypeError, IndexError, KeyError)
_LIBRARY = "transformers.generation.utils"
_POSITIONS = "_prepare_position_ids_for_generation"
_PREPARE = "prepare_inputs_for_generation"
_REORDER = "_reorder_cache"
_CACHE = "cache"  # the name of past_key_values from 5.24.0 on
_LEADS = (
    "past_key_values",
    "cache_params",
    "cache_position",
    "assistant_model",
    "prompt_lookup_num_tokens",
    "custom_generate",
)


@FIX.wraps(
    ("transformers.generation.utils:GenerationMixin.generate", ">=5.0.0"),
    fingerprint_of=("transformers.cache_utils:DynamicCache.__iter__",),
)
def again_as_before(original: Callable[..., Any]) -> Callable[..., Any]:
    """Generate once more, where a step of older code has failed."""

    @wraps(original)
    def generate(self: Any, *args: Any, **kwargs: Any) -> Any:
        if compiling.is_compiling() or not _is_older(type(self)):
            return original(self, *args, **kwargs)
        begin = _Begin.now(self)
        try:
            return original(self, *args, **kwargs)
        except _FAILS as _hotfix_error:  # `hotfix.asking` does not count a handler with this name
            generated = _generated(type(self), _hotfix_error)
            is_ours = generated is not None and restarts.is_of_the_model(self, _hotfix_error, _PREPARE, _REORDER)
            may_run_twice = not _is_led(kwargs) and restarts.may_run_twice(self, args, kwargs)
            if (
                begin is None
                or not is_ours
                or not may_run_twice
                or scope.is_handled(FIX.id, type(_hotfix_error), sys._getframe().f_back)
            ):
                raise
            begin.restore()
            if kwargs.get("streamer") is not None:
                kwargs["streamer"] = restarts.Rest(kwargs["streamer"], 1 + (generated or 0))  # it has the prompt, too
            try:
                with restarts.changed(self, **_makers(self, kwargs.get("attention_mask"))):
                    return original(self, *args, **kwargs)
            except _FAILS as _hotfix_error:  # the first one tells more
                pass
            raise

    # Programs that need gradients call `generate.__wrapped__`, the function below `torch.no_grad`.
    generate.__wrapped__ = getattr(original, "__wrapped__", original)
    return generate


@FIX.recognises
def is_broken(function: ast.FunctionDef) -> bool:
    """It yields the window of a layer."""
    return function.name == "__iter__" and "_sliding_window_tensor" in ast.unparse(function)


# ---------------------------------------------------------------------------------------------------------------------
# Which code, and which error.


def _code(cls: Any, name: str) -> Any:
    """The code of a method that was not written in transformers, or None."""
    method = getattr(cls, name, None)
    if method is None or not hasattr(method, "__module__") or scope.was_written_in("transformers", method):
        return None
    return getattr(inspect.unwrap(method), "__code__", None)


def _is_older(cls: Any) -> bool:
    """Whether a class prepares its inputs itself, and does not know how 5.x says which tokens are new."""
    code = _code(cls, _PREPARE)
    return code is not None and "super" not in code.co_names and "next_sequence_length" not in _parameters(code)


def _parameters(code: Any) -> tuple[str, ...]:
    names: tuple[str, ...] = code.co_varnames
    return names[: code.co_argcount + code.co_kwonlyargcount]


def _generated(cls: Any, error: BaseException) -> Optional[int]:
    """How many tokens had been generated when a step failed for want of what 4.57.6 passed; None for other errors."""
    prepares, reorders = _code(cls, _PREPARE), _code(cls, _REORDER)
    lengths: list[int] = []
    is_ours = False
    traceback = error.__traceback__
    while traceback is not None:
        frame, traceback = traceback.tb_frame, traceback.tb_next
        values = frame.f_locals
        if frame.f_globals.get("__name__") == _LIBRARY:
            ids: Any = values.get("input_ids")
            inputs = values.get("model_inputs")
            lengths += [ids.shape[-1]] if hasattr(ids, "shape") else []
            if isinstance(inputs, dict):
                is_ours = is_ours or _do_not_fit(inputs, values.get("model_kwargs") or {})
        elif frame.f_code is prepares:
            names = {"cache_position", "attention_mask"} & {*_parameters(prepares)}
            is_ours = is_ours or any(values.get(name) is None for name in names)
        elif frame.f_code is reorders:
            is_ours = is_ours or any(_has_layers(value) for value in values.values())
    is_memory = "OutOfMemory" in type(error).__name__
    return lengths[-1] - lengths[0] if is_ours and lengths and not is_memory else None


def _do_not_fit(inputs: dict[str, Any], given: dict[str, Any]) -> bool:
    """Whether the inputs of a step have too many positions, a shorter mask or none, or a wrong ``cache_position``.

    Args:
        inputs: the inputs of the forward pass.
        given: the arguments of the step.
    """
    tokens: Any = inputs.get("input_ids")
    tokens = inputs.get("inputs_embeds") if tokens is None else tokens
    positions: Any = inputs.get("position_ids")
    if hasattr(tokens, "shape") and hasattr(positions, "shape") and positions.shape[-1] > tokens.shape[1]:
        return True
    mask: Any = inputs.get("attention_mask")
    whole: Any = given.get("attention_mask")
    if hasattr(mask, "shape") and hasattr(whole, "shape") and mask.ndim == 2 and mask.shape[1] == whole.shape[1] - 1:
        return True
    all_positions: Any = given.get("cache_position")
    if hasattr(all_positions, "shape") and all_positions[0] < _length(given.get("past_key_values", given.get(_CACHE))):
        return True
    return any(name in inputs and inputs[name] is None for name in ("cache_position", "attention_mask"))


def _has_layers(value: Any) -> bool:
    """Whether it is a cache of 5.x."""
    return isinstance(getattr(value, "layers", None), list) and hasattr(value, "reorder_cache")


# ---------------------------------------------------------------------------------------------------------------------
# Where a run begins.


class _Begin(NamedTuple):
    """The state at the beginning of a run.

    Attributes:
        of_torch: the state of the random generator of the CPU.
        of_devices: those of the other devices of the model's kind, and the function that sets them.
    """

    of_torch: Any
    of_devices: Optional[tuple[Callable[..., Any], Any]]

    @classmethod
    def now(cls, model: Any) -> Optional[_Begin]:
        """The state of this moment; None for something that is no module of torch."""
        import torch

        if not isinstance(model, torch.nn.Module):
            return None
        of_devices = None
        kind = next((parameter.device.type for parameter in model.parameters()), "cpu")
        module: Any = None if kind in ("cpu", "meta") else getattr(torch, kind, None)
        if hasattr(module, "get_rng_state_all"):
            of_devices = (module.set_rng_state_all, module.get_rng_state_all())
        elif hasattr(module, "get_rng_state"):
            of_devices = (module.set_rng_state, module.get_rng_state())
        return cls(torch.get_rng_state(), of_devices)

    def restore(self) -> None:
        """Set the random generators back."""
        import torch

        torch.set_rng_state(self.of_torch)
        if self.of_devices is not None:
            setter, state = self.of_devices
            setter(state)


def _is_led(kwargs: dict[str, Any]) -> bool:
    """Whether the caller passes a cache, which the first run has filled, or an assistant that adds several tokens."""
    return any(kwargs.get(name) is not None and not isinstance(kwargs[name], tuple) for name in _LEADS)


# ---------------------------------------------------------------------------------------------------------------------
# What 4.57.6 passed.


@contextmanager
def from_the_outset(model: Any, kwargs: dict[str, Any]) -> Iterator[None]:
    """Call the methods of an older model as in 4.57.6, if it has received `generate` from hotfix.

    Without that the program would have ended: no other model is changed before an error.

    Args:
        model: the model.
        kwargs: the arguments of `generate`.
    """
    if not hasattr(type(model), _POSITIONS) or not _is_older(type(model)) or _is_led(kwargs):
        yield
        return
    with restarts.changed(model, **_makers(model, kwargs.get("attention_mask"))):
        yield


def _makers(model: Any, mask: Any) -> dict[str, Callable[[Any], Callable[..., Any]]]:
    """What makes the methods that are called as in 4.57.6, by their names.

    Args:
        model: the model.
        mask: the mask that the caller passed, or None.
    """
    makers: dict[str, Any] = {_PREPARE: _Steps(model, mask).around}
    if hasattr(type(model), _POSITIONS):  # from 5.3.0 on
        makers[_POSITIONS] = _no_positions
    if _code(type(model), _REORDER) is not None:
        makers[_REORDER] = _with_pairs
    return makers


def _no_positions(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **kwargs: None


class _Steps:
    """The steps of a run.

    Args:
        model: the model.
        mask: the mask that the caller passed, or None.
    """

    def __init__(self, model: Any, mask: Any) -> None:
        self.takes_a_mask = "attention_mask" in inspect.signature(model.forward).parameters
        self.kind = getattr(mask, "dtype", None)
        self.length = 0
        self.positions: Any = None

    def around(self, prepare: Callable[..., Any]) -> Callable[..., Any]:
        """A method that is passed a mask and the numbers of the new tokens, counted from the first one in the cache.

        ``get_max_length()`` of the cache, which 5.13.0 has again, gives None for no maximum while it runs.
        """

        @wraps(prepare)
        def prepare_inputs(input_ids: Any, *args: Any, **kwargs: Any) -> Any:
            if _CACHE in kwargs and kwargs.get("past_key_values") is None:
                kwargs["past_key_values"] = kwargs.pop(_CACHE)
            self._count(input_ids, kwargs)
            kwargs["cache_position"] = self.positions  # 5.3.0 passes those of all tokens
            if kwargs.get("attention_mask") is None and self.takes_a_mask:  # 5.18.0 leaves one of ones out
                kwargs["attention_mask"] = self._ones(input_ids)
            past: Any = kwargs.get("past_key_values")
            if not _has_layers(past) or not hasattr(past, "get_max_length"):
                return prepare(input_ids, *args, **kwargs)
            past.get_max_length = partial(caches.maximum, past)
            try:
                return prepare(input_ids, *args, **kwargs)
            finally:
                del past.get_max_length

        return prepare_inputs

    def _count(self, input_ids: Any, kwargs: dict[str, Any]) -> None:
        import torch

        if self.positions is None:
            embeds = kwargs.get("inputs_embeds")
            self.length = input_ids.shape[1] if embeds is None else embeds.shape[1]
            past = _length(kwargs.get("past_key_values"))
            self.positions = torch.arange(past, self.length, device=input_ids.device)
            return
        self.length += 1
        last = self.positions[-1:] + 1
        self.positions = last if kwargs.get("use_cache", True) else torch.cat([self.positions, last])

    def _ones(self, input_ids: Any) -> Any:
        import torch

        shape = (input_ids.shape[0], self.length)
        return torch.ones(shape, dtype=self.kind or torch.long, device=input_ids.device)


def _length(past: Any) -> int:
    """The number of tokens in a cache, or in a tuple of layers."""
    if isinstance(past, tuple):
        return int(past[0][0].shape[2]) if past and past[0] else 0
    return int(past.get_seq_length()) if hasattr(past, "get_seq_length") else 0


def _with_pairs(reorder: Callable[..., Any]) -> Callable[..., Any]:
    """A method that is passed pairs of keys and values, if no layer has a window."""

    @wraps(reorder)
    def reorder_cache(past: Any, *args: Any, **kwargs: Any) -> Any:
        if _has_layers(past):
            rows = list(past)
            if all(len(row) == 3 and row[2] is None for row in rows):
                past = tuple(row[:2] for row in rows)
        return reorder(past, *args, **kwargs)

    return reorder_cache
