"""The proof: the methods of a model call those of the model without a head, and return what they return."""

import inspect
from importlib import import_module
from typing import Any

import torch

from hotfix.names.vlm_feature_methods_moved import FIX
from hotfix.proofs._llava import llava
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(
    raises="AttributeError: '.*ForConditionalGeneration' object has no attribute '",
    oracles={"*": "4.55.4"},
    packages={"flash-attn": None},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The features of a picture by a small LLaVA; for other methods and models, whether the call arrives."""
    owner, _, method = target.qualname.partition(".")
    if owner.startswith("LlavaFor") and method == "get_image_features":
        model = llava(testbed).eval()
        features = model.get_image_features(
            testbed.randn(1, 3, 28, 28), vision_feature_layer=-1, vision_feature_select_strategy="default"
        )
        return {"features": torch.cat([*features]).reshape(-1, 32)}
    module = import_module(target.module)
    model = _empty(getattr(module, owner))
    inner = _empty(getattr(module, owner.replace("ForConditionalGeneration", "Model")))
    model.model = inner
    inner.language_model = torch.nn.Linear(2, 3)
    if method == "get_decoder":
        return {"same": torch.tensor(model.get_decoder() is inner.language_model)}
    if method == "set_decoder":
        model.set_decoder(torch.nn.Linear(5, 4))
        return {"shape": torch.tensor(inner.language_model.weight.shape)}
    parameters = inspect.signature(getattr(inner, method)).parameters.values()
    required = [each for each in parameters if each.default is each.empty and each.kind is not each.VAR_KEYWORD]
    setattr(inner, method, lambda *args, **kwargs: [*args, *kwargs.values()][0])
    number = 3 if method == "pack_image_features" else len(required)  # 4.55 requires the third one
    return {"first argument": torch.tensor(getattr(model, method)(*range(7, 7 + number)))}


def _empty(cls: Any) -> Any:
    model = cls.__new__(cls)
    torch.nn.Module.__init__(model)
    return model
