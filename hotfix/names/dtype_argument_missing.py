"""Loading a model does not know ``dtype``, which newer releases have for ``torch_dtype``.

Symptom   ``TypeError: LlamaForCausalLM.__init__() got an unexpected keyword argument 'dtype'`` from programs for 4.56
          and later; ``TypeError: TextClassificationPipeline._sanitize_parameters() got an unexpected keyword argument
          'dtype'``; a ValueError of ``generate`` about ``model_kwargs`` that are not used.
Cause     4.56.0 renamed the argument. What ``from_pretrained`` does not know goes to the constructor of the model.
Releases  before 4.56.0
Upstream  manga-translator-ui#180
Here      After the error, the call is repeated with ``torch_dtype``. Arguments of newer releases that have no effect
          (``use_kernels=False``) are left out. A class that takes ``dtype`` itself gets it, as before. The same for
          ``from_config``. A pipeline that would give ``dtype`` to ``generate``, or to a fast tokenizer, which refuses
          it as well, is made a second time.
"""

from __future__ import annotations

import ast
from typing import Any, Callable

from hotfix.fix import Fix
from hotfix.patching import scope
from hotfix.pattern import occurs

from ._loading import MODEL, TENSORFLOW, UNKNOWN, in_words_of_the_release

# Arguments of newer releases, with the value that changes nothing.
NEUTRAL: dict[str, tuple[Any, ...]] = {
    "disable_mmap": (None, False),
    "distributed_config": (None,),
    "experts_implementation": (None,),
    "gguf_file": (None,),
    "kernel_config": (None,),
    "key_mapping": (None,),
    "offload_buffers": (False,),
    "tp_plan": (None,),
    "tp_size": (None,),
    "use_kernels": (None, False),
}
_OF_A_PIPELINE = "TypeError: …_sanitize_parameters() got an unexpected keyword argument 'dtype'"

FIX = Fix(
    title="TypeError: LlamaForCausalLM.__init__() got an unexpected keyword argument 'dtype'",
    kind="removed-api",
    upstream=("manga-translator-ui#180",),
    fixed_in="4.56.0",
    group="removed-names",
    everyone="only after the release has raised this TypeError, or where the first call would raise",
    exempt=TENSORFLOW,
    errors=(*(UNKNOWN.format(name) for name in ("dtype", *NEUTRAL)), _OF_A_PIPELINE),
)

_PIPELINE = "transformers.pipelines:pipeline"


def _renamed(arguments: dict[str, Any]) -> bool:
    dtype = arguments.pop("dtype")
    if isinstance(dtype, str) and dtype != "auto":
        import torch

        dtype = getattr(torch, dtype, None)
    return not isinstance(dtype, dict) and arguments.setdefault("torch_dtype", dtype) is dtype


FIX.wraps((f"{MODEL}.from_pretrained", "<4.56.0"), (f"{MODEL}._from_config", "<4.56.0"))(
    in_words_of_the_release(FIX, NEUTRAL, {"dtype": _renamed})
)


@FIX.wraps((_PIPELINE, "<4.56.0"))
def by_the_name_of_the_release(original: Callable[..., Any]) -> Callable[..., Any]:
    """Around the function that makes a pipeline."""

    def pipeline(*args: Any, **kwargs: Any) -> Any:
        if "dtype" not in kwargs or kwargs.get("torch_dtype") is not None:
            return original(*args, **kwargs)
        try:
            made = original(*args, **kwargs)
            if not _would_hand_on(made, kwargs["dtype"]):
                return made
        except TypeError as error:
            if not scope.is_declared(error, FIX.id, (_OF_A_PIPELINE,)):
                raise
        made = None  # one model at a time
        kwargs["torch_dtype"] = kwargs.pop("dtype")
        return original(*args, **kwargs)

    return pipeline


@FIX.recognises
def is_broken(function: ast.AST) -> bool:
    """Whether the argument is unknown."""
    if not isinstance(function, ast.FunctionDef):
        return False
    if function.name == "pipeline":
        names = {argument.arg for argument in function.args.args}
        return "pipeline_class" in names and "dtype" not in names
    constructs = ("cls(config, **__WORDS)", "cls(config, *model_args, **model_kwargs)")
    makes = occurs(constructs[function.name == "from_pretrained"], function)
    return makes and not occurs('kwargs.pop("dtype", __DEFAULT)', function)


def _would_hand_on(pipeline: Any, dtype: Any) -> bool:
    """Whether a pipeline of the library hands the argument to code that refuses it at the first call."""
    import transformers

    if not type(pipeline).__module__.startswith("transformers."):
        return False
    tokenizer, fast = type(getattr(pipeline, "tokenizer", None)), transformers.PreTrainedTokenizerFast
    refuses = getattr(tokenizer, "_batch_encode_plus", None) is fast._batch_encode_plus
    if refuses and tokenizer.__call__ is fast.__call__ and pipeline._preprocess_params.get("dtype") is dtype:
        return True
    generates = getattr(type(getattr(pipeline, "model", None)), "generate", None)
    handed = {**pipeline._forward_params, **pipeline._forward_params.get("generate_kwargs", {})}
    return handed.get("dtype") is dtype and generates is transformers.GenerationMixin.generate
