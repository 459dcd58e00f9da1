"""Small names of ``transformers.utils`` and ``transformers.modeling_utils`` that older frameworks import are gone.

Symptom   ``ImportError: cannot import name 'no_init_weights' from 'transformers.modeling_utils'`` (AutoGPTQ), or
          ``'SequenceSummary'`` (IndexTTS), ``'cached_property'``, ``'send_example_telemetry'``, ``'dtype_byte_size'``,
          ``'get_file_from_repo'``, ``'OutputRecorder'``, ``'SampleOutput'`` and others.
Cause     Each was removed or moved when the library stopped using it.
Releases  ``get_file_from_repo`` 4.52.1 and later, from ``transformers.utils`` 4.50.0 and later; ``dtype_byte_size``
          from 4.51.0; ``is_torch_tpu_available`` 4.51.0 to 5.8.1; ``SequenceSummary`` from 4.53.0; ``cached_property``,
          ``send_example_telemetry`` and ``is_jieba_available`` from 4.57.1; ``no_init_weights``,
          ``load_sharded_checkpoint``, ``get_parameter_dtype``, ``get_parameter_device`` and the names of pairs of
          outputs, such as ``SampleOutput``, from 5.0.0; ``OutputRecorder`` in ``generic`` from 5.2.0
Upstream  not put back. ``is_torch_tpu_available`` of 5.9.0 is about something else.
Here      Aliases of the names that moved, and the rest with its old meaning: ``is_torch_tpu_available`` returns whether
          torch_xla has a device, as until 4.50.3; ``no_init_weights`` takes ``_enable`` as until 4.48;
          ``send_example_telemetry`` sends nothing; ``get_parameter_dtype`` does not know the variables that torch_xla
          had for bfloat16.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Callable, Optional, Union

from hotfix.fix import Fix

FIX = Fix(
    title="ImportError: cannot import name 'no_init_weights' from 'transformers.modeling_utils'",
    kind="removed-api",
    group="removed-names",
)

UTILS, HUB, GENERIC = "transformers.utils", "transformers.utils.hub", "transformers.utils.generic"
IMPORTS, MODELING = "transformers.utils.import_utils", "transformers.modeling_utils"
V5 = ">=5.0.0"


# -- transformers.utils ------------------------------------------------------------------------------------------------


@FIX.adds((f"{GENERIC}:cached_property", ">=4.57.1"), exported_by=(UTILS,))
class cached_property(property):  # noqa: N801 - its name
    """A property that is computed once for each object, and again while it is None."""

    def __get__(self, obj: Any, objtype: Optional[type] = None) -> Any:
        if obj is None or self.fget is None:
            return super().__get__(obj, objtype)
        where = f"__cached_{self.fget.__name__}"
        kept = getattr(obj, where, None)
        if kept is not None:
            return kept
        computed = super().__get__(obj, objtype)
        setattr(obj, where, computed)
        return computed


@FIX.adds((f"{HUB}:send_example_telemetry", ">=4.57.1"), exported_by=(UTILS,))
def send_example_telemetry(example_name: str, *example_args: Any, framework: str = "pytorch") -> None:
    """Send nothing: only statistics of example scripts depended on it."""


@FIX.adds_made((f"{HUB}:get_file_from_repo", ">=4.52.1"), exported_by=((UTILS, ">=4.50.0"),))
def get_file_from_repo(hub: Any) -> Callable[..., Optional[str]]:
    """`cached_file`, with None for a missing file."""

    def get_file_from_repo(*args: Any, **kwargs: Any) -> Optional[str]:
        quiet = dict.fromkeys(("gated_repo", "missing_entries", "connection_errors"), False)
        quiet = {f"_raise_exceptions_for_{name}": value for name, value in quiet.items()}
        path: Optional[str] = hub.cached_file(*args, **quiet, **kwargs)
        return path

    return get_file_from_repo


@FIX.adds_made((f"{IMPORTS}:is_torch_tpu_available", ">=4.51.0,<=5.8.1"), exported_by=(UTILS,))
def is_torch_tpu_available(import_utils: Any) -> Callable[..., bool]:
    """Whether torch_xla is installed, and has a device if `check_device` is true."""

    def is_torch_tpu_available(check_device: bool = True) -> bool:
        from importlib import import_module
        from importlib.util import find_spec

        if not import_utils.is_torch_available() or find_spec("torch_xla") is None:
            return False
        if check_device:
            try:
                import_module("torch_xla.core.xla_model").xla_device()
            except RuntimeError:
                return False
        return True

    return is_torch_tpu_available


@FIX.adds_made((f"{IMPORTS}:is_jieba_available", ">=4.57.1"), exported_by=(UTILS,))
def is_jieba_available(import_utils: Any) -> Callable[[], bool]:
    """Whether the package jieba is installed."""

    def is_jieba_available() -> bool:
        answer = import_utils._is_package_available("jieba")
        return bool(answer[0] if isinstance(answer, tuple) else answer)

    return is_jieba_available


@FIX.adds_made((f"{GENERIC}:OutputRecorder", ">=5.2.0"))
def output_recorder(generic: Any) -> Any:
    """The class from its new module."""
    from importlib import import_module

    return import_module("transformers.utils.output_capturing").OutputRecorder


# -- transformers.modeling_utils ---------------------------------------------------------------------------------------


@FIX.adds_made((f"{MODELING}:no_init_weights", V5))
def no_init_weights(modeling_utils: Any) -> Callable[..., Any]:
    """The one of `transformers.initialization`; does nothing if it is disabled."""
    from contextlib import contextmanager

    @contextmanager
    def no_init_weights(_enable: bool = True) -> Iterator[None]:
        from importlib import import_module

        if not _enable:
            yield
            return
        with import_module("transformers.initialization").no_init_weights():
            yield

    return no_init_weights


@FIX.adds_made((f"{MODELING}:load_sharded_checkpoint", V5))
def load_sharded_checkpoint(modeling_utils: Any) -> Callable[..., Any]:
    """The one of `transformers.trainer_utils`, imported when called, since it is heavy."""

    def load_sharded_checkpoint(model: Any, folder: Any, strict: bool = True, prefer_safe: bool = True) -> Any:
        from importlib import import_module

        load = import_module("transformers.trainer_utils").load_sharded_checkpoint
        return load(model, folder, strict=strict, prefer_safe=prefer_safe)

    return load_sharded_checkpoint


@FIX.adds((f"{MODELING}:get_parameter_device", V5))
def get_parameter_device(parameter: Any) -> Any:
    """The device of the first parameter of a module; of its first tensor, if it has none."""
    return next(_tensors(parameter)).device


@FIX.adds((f"{MODELING}:get_parameter_dtype", V5))
def get_parameter_dtype(parameter: Any) -> Any:
    """The first floating dtype among the parameters of a module, else their last dtype.

    Without parameters, the same of its tensors, and without tensors, of its buffers.
    """
    last = None
    for tensor in _tensors(parameter):
        last = tensor.dtype
        if tensor.is_floating_point():
            return last
    if last is None:
        for tensor in parameter.buffers():
            last = tensor.dtype
            if tensor.is_floating_point():
                return last
    return last


@FIX.adds((f"{MODELING}:dtype_byte_size", ">=4.51.0"))
def dtype_byte_size(dtype: Any) -> float:
    """The bytes of a number of this dtype: an eighth for a bool."""
    import re

    name = str(dtype)
    _, *numbers = re.split(r"\D+", name)  # "torch.float8_e4m3fn" has 8, 4 and 3; the first counts the bits
    sizes: list[float] = [int(number) // 8 for number in numbers if number]
    if name == "torch.bool":
        sizes = [1 / 8]
    if not sizes:
        raise ValueError(f"{name} is not a dtype whose name has a number of bits")
    return sizes[0]


@FIX.adds_made((f"{MODELING}:SequenceSummary", ">=4.53.0"))
def sequence_summary(modeling_utils: Any) -> type:
    """The module that reduces a sequence to one vector; GPT-2, XLM and XLNet have copies of it."""
    nn = modeling_utils.nn

    class SequenceSummary(nn.Module):  # type: ignore[misc, name-defined]
        """One vector for a sequence of hidden states, by `summary_type` and the like in a configuration."""

        def __init__(self, config: Any) -> None:
            from importlib import import_module

            super().__init__()
            asked = {name: getattr(config, f"summary_{name}", default) for name, default in _SUMMARY.items()}
            if asked["type"] == "attn":
                raise NotImplementedError
            self.summary_type = asked["type"]
            self.summary = _projection(nn, config, asked["proj_to_labels"]) if asked["use_proj"] else nn.Identity()
            activations = import_module("transformers.activations")
            self.activation = activations.get_activation(asked["activation"]) if asked["activation"] else nn.Identity()
            for place in ("first_dropout", "last_dropout"):
                setattr(self, place, nn.Dropout(asked[place]) if asked[place] > 0 else nn.Identity())

        def forward(self, hidden_states: Any, cls_index: Optional[Any] = None) -> Any:
            """Hidden states (batch, length, size) to (batch, size), or to one number for each label.

            Args:
                hidden_states: those of the last layer.
                cls_index: the position to take with "cls_index", int64, (batch,) or (batch, choices); else the last.
            """
            if self.summary_type == "last":
                vector = hidden_states[:, -1]
            elif self.summary_type == "first":
                vector = hidden_states[:, 0]
            elif self.summary_type == "mean":
                vector = hidden_states.mean(dim=1)
            elif self.summary_type == "cls_index":
                vector = _at(hidden_states, cls_index)
            else:
                raise NotImplementedError
            return self.last_dropout(self.activation(self.summary(self.first_dropout(vector))))

    return SequenceSummary


# ----------------------------------------------------------------------------------------------------------------------
# Below: helpers.


def _tensors(module: Any) -> Iterator[Any]:
    """The parameters of a module; of the replicas of `DataParallel`, which have none, the tensors that they hold."""
    is_empty = True
    for tensor in module.parameters():
        is_empty = False
        yield tensor
    if is_empty:
        from torch import is_tensor

        held = module._named_members(lambda part: [pair for pair in vars(part).items() if is_tensor(pair[1])])
        yield from (tensor for _, tensor in held)


_SUMMARY: dict[str, Any] = {
    "type": "last",
    "use_proj": False,
    "proj_to_labels": False,
    "activation": None,
    "first_dropout": 0,
    "last_dropout": 0,
}
"""The options of a `SequenceSummary` in a configuration, without ``summary_``, and their defaults."""


def _projection(nn: Any, config: Any, to_labels: bool) -> Any:
    """A layer from the size of hidden states to a number for each label, or to the same size."""
    labels = config.num_labels if to_labels else 0
    return nn.Linear(config.hidden_size, labels if labels > 0 else config.hidden_size)


def _at(hidden_states: Any, index: Optional[Any]) -> Any:
    """The vectors at these positions of the last dimension but one."""
    if index is None:
        return hidden_states[..., -1, :]
    index = index[..., None, None]
    index = index.expand(*index.shape[:-1], hidden_states.size(-1))
    return hidden_states.gather(-2, index).squeeze(-2)


# -- transformers.generation.utils -------------------------------------------------------------------------------------


def _pair(kind: str) -> Callable[[Any], Any]:
    """A function that returns the annotation for what models with and without an encoder return."""

    def made(utils: Any) -> Any:
        return Union[getattr(utils, f"{kind}EncoderDecoderOutput"), getattr(utils, f"{kind}DecoderOnlyOutput")]

    return made


for _name, _kind in (
    ("GreedySearchOutput", "Generate"),
    ("SampleOutput", "Generate"),
    ("ContrastiveSearchOutput", "Generate"),
    ("BeamSearchOutput", "GenerateBeam"),
    ("BeamSampleOutput", "GenerateBeam"),
):
    FIX.adds_made((f"transformers.generation.utils:{_name}", V5))(_pair(_kind))
