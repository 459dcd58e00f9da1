"""A model whose class was replaced after it was made returns no hidden states and no attentions.

Symptom   Silent: ``hidden_states`` and ``attentions`` are None although they were asked for, and the program ends later
          with ``TypeError: 'NoneType' object is not subscriptable``. FramePack gives each module a class of its own
          (``DynamicSwap_LlamaModel``), FSDP2 too (``FSDPLlamaModel``), and a model that another process unpickled was
          never made there.
Cause     The constructor of a model writes down, under the name of its class, which outputs can be recorded. Under
          another name nothing is recorded.
Releases  4.54.0 and later
Upstream  not repaired as of 5.24.0
Here      A class that is not written down has what it declares or inherits, as the constructor would write it down, if
          its ``forward`` is the library's: one of the program's may collect outputs itself. Equal to 4.53.3, whose
          models do so.
"""

from __future__ import annotations

from hotfix.fix import Fix
from hotfix.patching import compiling, scope

FIX = Fix(
    title="hidden_states is None although output_hidden_states=True, where the class of a model was replaced",
    kind="silent",
    upstream=("FramePack#225",),
    everyone="only a class that is not written down, with a forward of the library's: the new code asks for both",
    prefilter=".__class__)",
)

_CAPTURING = "transformers.utils.output_capturing"
_DECLARED = "getattr({0}, '_can_record_outputs', None) if has_the_librarys_forward(type({0})) else None"
_OF_5 = "__FLAGS = _CAN_RECORD_REGISTRY.get(str({}.__class__)) or {{}}"


def _with_what_it_declares(before: str, model: str, after: str = " or {}") -> str:
    looked_up = f"get(str({model}.__class__), {_DECLARED.format(model)})"
    return f"from {__name__} import has_the_librarys_forward\n{before}.{looked_up}{after}"


FIX.edits(
    ("transformers.utils.generic:check_model_inputs", ">=4.54.0,<5.2.0"),
    old=("__FLAGS = _CAN_RECORD_REGISTRY.get(str(self.__class__), {})", _OF_5.format("self")),
    new=[_with_what_it_declares("__FLAGS = _CAN_RECORD_REGISTRY", "self")] * 2,
    alternatives=True,
)
FIX.edits(
    (f"{_CAPTURING}:capture_outputs", ">=5.2.0,<5.23.0"),
    old=_OF_5.format("self"),
    new=_with_what_it_declares("__FLAGS = _CAN_RECORD_REGISTRY", "self"),
)
FIX.edits(
    (f"{_CAPTURING}:install_all_output_capturing_hooks", ">=5.2.0,<5.23.0"),
    old=_OF_5.format("model"),
    new=_with_what_it_declares("__FLAGS = _CAN_RECORD_REGISTRY", "model"),
)
FIX.edits(
    (f"{_CAPTURING}:_CanRecordRegistry.get", ">=5.23.0"),
    old="return super().get(str(model.__class__)) or {}",
    new=_with_what_it_declares("return super()", "model"),
)


@compiling.settled
def has_the_librarys_forward(kind: type) -> bool:
    """Whether a class has its ``forward`` from the library: one of the program's may collect outputs itself."""
    return scope.was_written_in("transformers", getattr(kind, "forward", None))
