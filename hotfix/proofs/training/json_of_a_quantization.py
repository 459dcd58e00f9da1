"""The proof: settings of a training that have a quantization among the arguments for the model."""

from dataclasses import dataclass, field
from typing import Any, Optional

import torch

from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.training._steps import PACKAGES
from hotfix.training.json_of_a_quantization import FIX


@FIX.case(raises="TypeError: Object of type GPTQConfig is not JSON serializable", packages=PACKAGES)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The part of the text that is about the model."""
    import json

    from transformers import GPTQConfig, TrainingArguments

    @dataclass
    class Settings(TrainingArguments):
        model_init_kwargs: Optional[dict[str, Any]] = field(default=None)

    given = {"quantization_config": GPTQConfig(bits=4), "use_cache": False}
    settings = Settings("unused", report_to=[], model_init_kwargs=given)
    text = json.dumps(json.loads(settings.to_json_string())["model_init_kwargs"], sort_keys=True)
    keys = ("bits", "use_cache", "quant_method")
    return {"has": torch.tensor([f'"{key}"' in text for key in keys]), "four": torch.tensor('"bits": 4' in text)}
