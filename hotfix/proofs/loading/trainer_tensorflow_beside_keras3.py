"""A fresh interpreter that finds TensorFlow and Keras 3, as far as the library can see, imports the Trainer."""

from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from hotfix.loading.trainer_tensorflow_beside_keras3 import FIX
from hotfix.proofs.loading._interpreter import printed
from hotfix.proofs.testbed import Target, Testbed

PACKAGES = {
    "tensorflow": (
        "2.16.1",
        """
class Anything(type):
    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything(name, (), {})
    def __call__(cls, *args, **kwargs):
        return args[0] if args and callable(args[0]) else Anything(cls.__name__, (), {})
class Tensor:
    pass
def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return Anything(name, (), {})
""",
    ),
    "keras": ("3.5.0", '__version__ = "3.5.0"'),
    "h5py": ("3.11.0", ""),
}
USER = """
import json
from transformers import Trainer, default_data_collator
batch = default_data_collator([{"input_ids": [1, 2], "label": 0}, {"input_ids": [3, 4], "label": 1}])
print(json.dumps({"of": Trainer.__module__, **{name: value.tolist() for name, value in batch.items()}}))
"""


@FIX.case(raises="Keras 3|TFPreTrainedModel", packages={"flash-attn": None}, oracles={"*": "5.0.0"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """A batch of the default collator, behind an import of the Trainer."""
    with TemporaryDirectory() as folder:
        for name, (version, text) in PACKAGES.items():
            metadata = Path(folder, f"{name}-{version}.dist-info", "METADATA")
            for file in (Path(folder, name, "__init__.py"), metadata):
                file.parent.mkdir()
            Path(folder, name, "__init__.py").write_text(text)
            metadata.write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        results = printed(USER, folder)
    assert results.pop("of") == "transformers.trainer"
    return {name: torch.tensor(value) for name, value in results.items()}
