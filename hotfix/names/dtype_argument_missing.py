"""Loading a model does not know ``dtype``, which newer releases have for ``torch_dtype``.

Symptom   ``TypeError: LlamaForCausalLM.__init__() got an unexpected keyword argument 'dtype'`` from programs for 4.56
          and later; ``TypeError: TextClassificationPipeline._sanitize_parameters() got an unexpected keyword argument
          'dtype'``; a ValueError of ``generate`` about ``model_kwargs`` that are not used.
Cause     4.56.0 renamed the argument. What ``from_pretrained`` does not know goes to the constructor of the model.
Releases  before 4.56.0
Upstream  manga-translator-ui#180
Here      After the error, the call is repeated with ``torch_dtype``. Arguments of newer releases that have no effect
          (``use_kernels=False``) are left out. A class that takes ``dtype`` itself gets it, as before. The same for
          ``from_config``. A pipeline that gives ``dtype`` to ``generate``, or to a fast tokenizer, gets its model a
          second time when that has refused it.
"""

from __future__ import annotations

import ast
from functools import partial
from typing import Any, Callable
from weakref import WeakKeyDictionary

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
_HANDED_ON = (
    "ValueError: The following `model_kwargs` are not used by the model: ['dtype']…",
    "TypeError: …_batch_encode_plus() got an unexpected keyword argument 'dtype'",
)

FIX = Fix(
    title="TypeError: LlamaForCausalLM.__init__() got an unexpected keyword argument 'dtype'",
    kind="removed-api",
    upstream=("manga-translator-ui#180",),
    fixed_in="4.56.0",
    group="removed-names",
    everyone="only after the release has raised this TypeError, or where the first call would raise",
    exempt=TENSORFLOW,
    errors=(*(UNKNOWN.format(name) for name in ("dtype", *NEUTRAL)), _OF_A_PIPELINE, *_HANDED_ON),
)

_PIPELINE = "transformers.pipelines:pipeline"
_CALL = "transformers.pipelines.base:Pipeline.__call__"


def _renamed(arguments: dict[str, Any]) -> bool:
    dtype = arguments.pop("dtype")
    if isinstance(dtype, str) and dtype != "auto":
        import torch

        dtype = getattr(torch, dtype, None)
    return not isinstance(dtype, dict) and arguments.setdefault("torch_dtype", dtype) is dtype


FIX.wraps((f"{MODEL}.from_pretrained", "<4.56.0"), (f"{MODEL}._from_config", "<4.56.0"))(
    in_words_of_the_release(FIX, NEUTRAL, {"dtype": _renamed})
)


_again: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
"""How to make each pipeline in the words of the release; None if its model was given as an object."""


@FIX.wraps((_PIPELINE, "<4.56.0"))
def by_the_name_of_the_release(original: Callable[..., Any]) -> Callable[..., Any]:
    """Around the function that makes a pipeline."""

    def pipeline(*args: Any, **kwargs: Any) -> Any:
        if kwargs.get("dtype") is None or kwargs.get("torch_dtype") is not None:
            return original(*args, **kwargs)
        words = {("torch_dtype" if name == "dtype" else name): value for name, value in kwargs.items()}
        try:
            made = original(*args, **kwargs)
        except TypeError as _hotfix_error:  # `hotfix.asking` does not count a handler with this name
            if not scope.is_declared(_hotfix_error, FIX.id, (_OF_A_PIPELINE,)):
                raise
        else:
            if any(handed.get("dtype") is kwargs["dtype"] for handed in _handed_on(made)):
                model = args[1] if len(args) > 1 else words.get("model")
                again = partial(original, *args, **words)
                _again[made] = again if model is None or isinstance(model, str) else None  # an object stays as it is
            return made
        return original(*args, **words)

    return pipeline


@FIX.wraps((_CALL, "<4.56.0"), fingerprint_of=(_PIPELINE,), on_error=_HANDED_ON)
def with_its_model(original: Callable[..., Any]) -> Callable[..., Any]:
    """The call of a pipeline, whose model gets the dtype that the tokenizer or ``generate`` has refused."""

    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807 - its name
        if self in _again:
            again = _again.pop(self)
            if again is not None:
                self.model = None  # one model at a time
                self.model = again().model
            for handed in _handed_on(self):
                handed.pop("dtype", None)
        return original(self, *args, **kwargs)

    return __call__


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


def _handed_on(pipeline: Any) -> list[dict[str, Any]]:
    """What a pipeline of the library gives to its tokenizer, and to ``generate``."""
    if not scope.was_written_in("transformers", type(pipeline)):
        return []
    forward = pipeline._forward_params
    return [pipeline._preprocess_params, forward, forward.get("generate_kwargs") or {}]
