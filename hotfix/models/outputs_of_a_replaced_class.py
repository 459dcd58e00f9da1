"""A model whose class was replaced after it was made returns no hidden states and no attentions.

Symptom   Silent: ``hidden_states`` and ``attentions`` are None although they were asked for, and the program ends later
          with ``TypeError: 'NoneType' object is not subscriptable``. FramePack gives each module a class of its own
          (``DynamicSwap_LlamaModel``), FSDP2 too (``FSDPLlamaModel``), and a model that another process unpickled was
          never made there.
Cause     The constructor of a model writes down, under the name of its class, which outputs can be recorded. Under
          another name nothing is recorded.
Releases  4.54.0 and later
Upstream  not repaired as of 5.24.0
Here      A class that is not written down has what it declares or inherits, as the constructor would write it down.
          Equal to 4.53.3, whose models collect their outputs themselves.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="hidden_states is None although output_hidden_states=True, where the class of a model was replaced",
    kind="silent",
    upstream=("FramePack#225",),
    everyone="only where the class of the model is not written down: the new code asks for it",
    prefilter=".__class__)",
)

_DECLARED = "getattr({0}, '_can_record_outputs', None)"
_CAPTURING = "transformers.utils.output_capturing"

# 4.x has an empty dict as the default, 5.x none.
FIX.edits(
    ("transformers.utils.generic:check_model_inputs", ">=4.54.0,<5.2.0"),
    (f"{_CAPTURING}:capture_outputs", ">=5.2.0,<5.23.0"),
    old="_CAN_RECORD_REGISTRY.get(str(self.__class__), *__DEFAULT)",
    new=f"(_CAN_RECORD_REGISTRY.get(str(self.__class__), {_DECLARED.format('self')}) or {{}})",
)
FIX.edits(
    (f"{_CAPTURING}:install_all_output_capturing_hooks", ">=5.2.0,<5.23.0"),
    old="_CAN_RECORD_REGISTRY.get(str(model.__class__))",
    new=f"_CAN_RECORD_REGISTRY.get(str(model.__class__), {_DECLARED.format('model')})",
)
FIX.edits(
    (f"{_CAPTURING}:_CanRecordRegistry.get", ">=5.23.0"),
    old="super().get(str(model.__class__))",
    new=f"super().get(str(model.__class__), {_DECLARED.format('model')})",
)
