"""The proof: lists of images, of other things, and none."""

from typing import Any

import torch

from hotfix.names.is_valid_list_of_images_moved import FIX
from hotfix.proofs.names.asking import ask, listed, same_when_pickled, words
from hotfix.proofs.processing._pictures import PACKAGES
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ImportError: cannot import name '", packages=PACKAGES)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Its answer for each."""
    import numpy as np
    from PIL import Image

    check = ask(target)
    picture: Any = Image.new("RGB", (4, 3))
    things: dict[str, Any] = {
        "pictures": [picture, picture],
        "arrays": [np.zeros((3, 4, 4)), torch.zeros(3, 4, 4)],
        "a text among them": [picture, "a"],
        "nested": [[picture]],
        "none of them": [None, None],
        "empty": [],
        "no list": None,
    }
    answers = [f"{name}: {check(thing)!r}" for name, thing in things.items()]
    return {"answers": words(*answers), "listed": listed(target), "pickled": same_when_pickled(check)}
