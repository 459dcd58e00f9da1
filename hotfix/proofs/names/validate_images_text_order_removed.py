"""The proof: a processor is given images and text in either order."""

from typing import Any

import torch

from hotfix.names.validate_images_text_order_removed import FIX
from hotfix.proofs.names.asking import ask, listed, same_when_pickled, words
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ImportError: cannot import name '")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Give it what users give, and look what comes back, and in which order."""
    import numpy as np

    order = ask(target)
    image: Any = np.zeros((3, 4, 4), dtype=np.uint8)
    things = {
        "none": None,
        "image": image,
        "images": [image, image],
        "nested": [[image], (image, image)],
        "url": "https://example.org/a.png",
        "text": "a",
        "texts": ["a", "b"],
        "pairs": [["a", "b"], ["c"]],
        "nothing": [],
        "mixed": ["a", 1],
        "number": 1,
    }
    lines = []
    for first, images in things.items():
        for second, text in things.items():
            try:
                ordered, other = order(images, text)
            except ValueError as error:
                lines.append(f"{first} {second}: {error}")
            else:
                same = (ordered is images and other is text, ordered is text and other is images)
                lines.append(f"{first} {second}: {same}")
    return {"answers": words(*lines), "listed": listed(target), "pickled": same_when_pickled(order)}
