"""The proof: the arguments of a processor inherit from the name."""

from typing import Any

import torch

from hotfix.names.fast_image_processor_kwargs_removed import FIX
from hotfix.proofs.names.asking import ask, listed, words
from hotfix.proofs.testbed import Target, Testbed

KEYS = (
    "do_resize",
    "size",
    "default_to_square",
    "resample",
    "do_center_crop",
    "crop_size",
    "do_rescale",
    "rescale_factor",
    "do_normalize",
    "image_mean",
    "image_std",
    "do_pad",
    "pad_size",
    "do_convert_rgb",
    "return_tensors",
    "data_format",
    "input_data_format",
    "device",
    "disable_grouping",
)


@FIX.case(raises="ImportError: cannot import name '", packages={"torchvision": "0.28.0"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Which of the keys of 4.57.6 it has, and a class that inherits from it."""
    cls = ask(target)
    namespace: dict[str, Any] = {"inherited": cls}
    exec("class Heir(inherited, total=False):\n    more: int", namespace)
    return {
        "listed": listed(target),
        "keys": words(*(key for key in KEYS if key in cls.__annotations__)),
        "is": words(str(cls.__total__), cls.__name__, cls.__module__),
        "heir": words(*(key for key in [*KEYS, "more"] if key in namespace["Heir"].__annotations__)),
    }
