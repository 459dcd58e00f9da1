"""A pipeline for a model in a folder, in a process that has TensorFlow and Keras 3, as far as this library can see."""

import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import torch

from hotfix.loading.pipeline_tensorflow_beside_keras3 import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import small_llama


def _refused(name: str) -> Any:
    reason = "Your currently installed version of Keras is Keras 3, but this is not yet supported in Transformers"
    raise AttributeError(reason)


@contextmanager
def tensorflow_beside_keras3() -> Iterator[None]:
    """What an import of the library records with TensorFlow installed, for GPT-2 alone; and a Keras 3."""
    import transformers
    from transformers import pipelines
    from transformers.models import gpt2

    tensorflow: Any = types.ModuleType("tensorflow")
    tensorflow.Tensor = type("Tensor", (), {})
    vars(tensorflow)["__getattr__"] = _refused  # before 4.38 the library has no check of its own
    keras: Any = types.ModuleType("keras")
    keras.__version__ = "3.5.0"
    name = "TFGPT2LMHeadModel"
    for module in (transformers, gpt2):
        vars(module).pop(name, None)
        getattr(module, "_object_missing_backend", {}).pop(name, None)
    with (
        mock.patch.dict(sys.modules, {"tensorflow": tensorflow, "keras": keras, "tf_keras": None}),
        mock.patch.dict(transformers._class_to_module, {name: "models.gpt2"}),
        mock.patch.dict(gpt2._class_to_module, {name: "modeling_tf_gpt2"}),
        mock.patch.object(pipelines.base, "is_tf_available", return_value=True),
        mock.patch.object(pipelines.base, "TFAutoModel", object, create=True),
    ):
        yield


@FIX.case(
    raises="Keras 3",
    packages={"flash-attn": None},
    oracles={"*": "5.0.0"},
    with_fixes=("from-pretrained-without-accelerate",),
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The weights of the model that the pipeline has loaded; of a Llama, which has no class for TensorFlow, too."""
    from transformers import GPT2Config, GPT2LMHeadModel, pipeline
    from transformers.pipelines import base

    results = {}
    models = {
        "gpt2": testbed.fill(
            GPT2LMHeadModel(GPT2Config(vocab_size=64, n_positions=32, n_embd=32, n_layer=1, n_head=2))
        ),
        "llama": small_llama(testbed),
    }
    for name, model in models.items():
        with TemporaryDirectory() as folder:
            model.save_pretrained(folder)
            options: dict[str, Any] = {"tokenizer": _tokenizer()}
            if not hasattr(base, "infer_framework_load_model"):  # 5.0.0, which knows no other framework
                made = pipeline("text-generation", model=folder, **options)
            else:
                with tensorflow_beside_keras3():
                    made = pipeline("text-generation", model=folder, **options)
        results.update({f"{name}, {key}": value.float() for key, value in made.model.state_dict().items()})
    return results


def _tokenizer() -> Any:
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel({"a": 0}, unk_token="a")))
