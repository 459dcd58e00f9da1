"""The Trainer asks accelerate for a model without its wrappers in a way that accelerate before 1.3 does not know.

Symptom   ``TypeError: Accelerator.unwrap_model() got an unexpected keyword argument 'keep_torch_compile'`` as soon as
          the Trainer trains, evaluates or saves.
Cause     The argument says that the wrapper of ``torch.compile`` shall come off, too. The releases say that they work
          with older accelerates: 4.x from 0.26 on, 5.x from 1.1 on.
Releases  4.52.1 and later, with accelerate before 1.3
Upstream  transformers#37725 began to pass it; not fixed
Here      Where the call raises this, the wrapper of ``torch.compile`` comes off first, and accelerate takes off the
          others: the answer of a newer one. An older accelerate that was given the compiled model would also take out
          the wrapper that is inside.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="TypeError: Accelerator.unwrap_model() got an unexpected keyword argument 'keep_torch_compile'",
    kind="crash",
    needs={"accelerate": "<1.3"},
    upstream=("transformers#37725", "LlamaFactory#8451"),
    errors=("TypeError: …unwrap_model() got an unexpected keyword argument 'keep_torch_compile'",),
    on_error=True,
)

COMPILED = "isinstance(__MODEL, torch._dynamo.eval_frame.OptimizedModule)"

for _name, _count in (("_wrap_model", 1), ("_save", 2)):
    FIX.edits(
        (f"transformers.trainer:Trainer.{_name}", ">=4.52.1"),
        old="self.accelerator.unwrap_model(__MODEL, keep_torch_compile=False)",
        new=f"self.accelerator.unwrap_model(__MODEL._orig_mod if {COMPILED} else __MODEL)",
        count=_count,
    )
