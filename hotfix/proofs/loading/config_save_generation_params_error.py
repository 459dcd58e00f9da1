"""A BART configuration with generation parameters is saved and loaded again."""

import torch

from hotfix.loading.config_save_generation_params_error import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(
    packages={"flash-attn": None},
    raises="ValueError: Some non-default generation parameters are set in the model config",
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The loaded values."""
    import tempfile

    from transformers import BartConfig

    with tempfile.TemporaryDirectory() as folder:
        BartConfig(d_model=32, num_beams=4, max_length=142, length_penalty=2.0).save_pretrained(folder)
        config = BartConfig.from_pretrained(folder)
    return {"said": torch.tensor([float(config.d_model), config.num_beams, config.max_length, config.length_penalty])}
