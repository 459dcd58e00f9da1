"""The proof: custom configurations and models under names that the library has, and under one that it has not.

Every release has all the types that are registered here, so that none can be the oracle: it is what the release does
where the caller says that the type may be known.
"""

import sys
import types
from typing import Any

import torch

from hotfix.neighbours.autoconfig_register_known_type import FIX
from hotfix.proofs.names.asking import remote, words
from hotfix.proofs.testbed import Target, Testbed

OLD = """
from transformers import PretrainedConfig, PreTrainedModel

def classes(model_type, name):
    config = type(name, (PretrainedConfig,), {"model_type": model_type, "__module__": __name__})
    model = type(name + "Model", (PreTrainedModel,), {"config_class": config, "__module__": __name__})
    return config, model
"""


@FIX.case(raises="ValueError: .* is already used by a Transformers", oracles={"*": ""})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The class under each name; a type that other code has registered is still refused."""
    from transformers import AutoConfig, AutoModel

    namespace = remote(OLD)
    # 5.3.0 looks for the module of a model when it is made, and 5.0.0 into its file.
    module = sys.modules.setdefault(namespace["__name__"], types.ModuleType(namespace["__name__"]))
    module.__file__ = __file__
    classes = namespace["classes"]
    of_models = target.qualname.startswith("_LazyAutoMapping")

    def known_as(model_type: str, name: str, **how: Any) -> list[str]:
        config, model = classes(model_type, name)
        AutoConfig.register(model_type, config, **({"exist_ok": True} if of_models else how))
        AutoModel.register(config, model, **how)
        return [
            str(AutoConfig.for_model(model_type).__class__ is config),
            str(type(AutoModel.from_config(config())) is model),
        ]

    said = []
    # The second has a name of the library's, whose model would be taken otherwise.
    for model_type, name in (("bert", "BertOfOurs"), ("gpt2", "GPT2Config"), ("of-ours", "OurConfig")):
        if name == "GPT2Config" and not of_models:
            continue
        plain = known_as(model_type, name)
        try:
            AutoConfig.register(model_type, classes(model_type, name)[0])
        except ValueError as error:
            plain.append(str(error))
        said += [*plain, str(plain[:2] == known_as(model_type, name, exist_ok=True))]
    return {"told": words(*said)}
