"""Subclasses of models that load their checkpoints rightly without hotfix; each function returns the weights."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

from hotfix.proofs._llava import save
from hotfix.proofs.loading import v5_subclass_weights_not_converted as of_the_hub
from tests.working.loading.programs import values


def _loaded(testbed: Any, cls: Any, base: str, change: Any = None, **how: Any) -> dict[str, Any]:
    """The weights of a class, loaded from a checkpoint of the Hub, the report, and the names that it saves."""
    import torch
    from safetensors.torch import load_file

    with tempfile.TemporaryDirectory() as place, tempfile.TemporaryDirectory() as again:
        of_the_hub.write(testbed, base, place)
        if change is not None:
            path = f"{place}/model.safetensors"
            save(change(load_file(path)), path)
        torch.manual_seed(1)  # for weights that the checkpoint lacks
        model, report = cls.from_pretrained(place, output_loading_info=True, **how)
        model.save_pretrained(again)
        files = sorted(name for path in Path(again).glob("*.safetensors") for name in load_file(path))
    # 5.x may return unset memory for what nothing fills.
    weights = {name: value.float() for name, value in model.state_dict().items()}
    return values(files=files, missing=sorted(report["missing_keys"]), **weights)


def head_of_another_shape(testbed: Any, target: Any) -> Any:
    """A LLaVA with one score per token: the head of the checkpoint does not fit, and is not wanted."""
    import torch
    from transformers import LlavaForConditionalGeneration

    class Reward(LlavaForConditionalGeneration):
        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.lm_head = torch.nn.Linear(config.text_config.hidden_size, 1)

    return _loaded(testbed, Reward, "LlavaForConditionalGeneration")


def names_of_its_own(testbed: Any, target: Any) -> Any:
    """A subclass whose checkpoint has the names of its own parts, some of which look like those of the Hub."""
    import torch
    from transformers import Qwen2VLForConditionalGeneration

    class Reward(Qwen2VLForConditionalGeneration):
        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.visual_head = torch.nn.Linear(4, 4)
            self.model.layers = torch.nn.ModuleList([torch.nn.Linear(4, 4)])

    model = testbed.fill(Reward(_config_of(testbed, "Qwen2VLForConditionalGeneration")))
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    return _loaded(testbed, Reward, "Qwen2VLForConditionalGeneration", lambda old: weights)


def _config_of(testbed: Any, base: str) -> Any:
    from transformers import AutoConfig

    with tempfile.TemporaryDirectory() as place:
        of_the_hub.write(testbed, base, place)
        return AutoConfig.from_pretrained(place)


def names_given_by_the_caller(testbed: Any, target: Any) -> Any:
    """The published work-around: the caller's own ``key_mapping``."""
    from transformers import Qwen2VLForConditionalGeneration

    class Reward(Qwen2VLForConditionalGeneration):
        pass

    mapping = {"^visual": "model.visual", r"^model(?!\.(language_model|visual))": "model.language_model"}
    return _loaded(testbed, Reward, "Qwen2VLForConditionalGeneration", key_mapping=mapping)


def names_changed_in_the_file(testbed: Any, target: Any) -> Any:
    """The other work-around: the file is converted before it is loaded."""
    from transformers import Qwen2VLForConditionalGeneration

    class Reward(Qwen2VLForConditionalGeneration):
        pass

    def converted(old: dict[str, Any]) -> dict[str, Any]:
        return {
            re.sub("^visual", "model.visual", re.sub(r"^model\.", "model.language_model.", name)): value
            for name, value in old.items()
        }

    return _loaded(testbed, Reward, "Qwen2VLForConditionalGeneration", converted)


def conversion_of_its_own(testbed: Any, target: Any) -> Any:
    """A conversion that the program has registered for its class."""
    from transformers import Qwen2VLForConditionalGeneration
    from transformers.conversion_mapping import register_checkpoint_conversion_mapping
    from transformers.core_model_loading import WeightRenaming

    class RegisteredReward(Qwen2VLForConditionalGeneration):
        pass

    steps = [
        WeightRenaming("^visual", "model.visual"),
        WeightRenaming(r"^model(?!\.(language_model|visual))", "model.language_model"),
    ]
    register_checkpoint_conversion_mapping("RegisteredReward", steps)
    return _loaded(testbed, RegisteredReward, "Qwen2VLForConditionalGeneration")


def experts_of_its_own(testbed: Any, target: Any) -> Any:
    """A Mixtral with experts of its own, whose parameters have the library's names and other shapes, made anew."""
    import torch
    from transformers import MixtralModel

    class Experts(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gate_up_proj = torch.nn.Parameter(torch.ones(2, 3, 4))
            self.down_proj = torch.nn.Parameter(torch.ones(2, 4, 3))

    class Sparse(MixtralModel):
        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.layers[0].mlp.experts = Experts()

        def _init_weights(self, module: Any) -> None:
            super()._init_weights(module)
            if isinstance(module, Experts):
                torch.nn.init.ones_(module.gate_up_proj)
                torch.nn.init.ones_(module.down_proj)

    return _loaded(testbed, Sparse, "MixtralModel")


def tied_to_its_embeddings(testbed: Any, target: Any) -> Any:
    """A LLaVA whose head is the table of embeddings, whatever the checkpoint says."""
    from transformers import LlavaForConditionalGeneration

    class Tied(LlavaForConditionalGeneration):
        pass

    config = _config_of(testbed, "LlavaForConditionalGeneration")
    config.tie_word_embeddings = config.text_config.tie_word_embeddings = True
    return _loaded(testbed, Tied, "LlavaForConditionalGeneration", config=config)


def names_that_are_saved(testbed: Any, target: Any) -> Any:
    """The names under which subclasses save what they have loaded from checkpoints of the Hub."""
    names = {
        base: _loaded(testbed, of_the_hub.extended(base), base)["files"]
        for base in of_the_hub.NAMES
        if base != "MixtralForCausalLM"
    }
    return values(**names)
