"""The proof: lines of remote code for later releases, which import each of the names and use it."""

from typing import Any, Callable

import torch

from hotfix.names.helpers_of_later_releases import FIX
from hotfix.proofs.names.asking import ask, remote, words
from hotfix.proofs.testbed import Target, Testbed

SIZES: dict[str, Any] = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}

Results = dict[str, torch.Tensor]


@FIX.case(
    raises="ImportError: cannot import name",
    packages={"flash-attn": None, "kernels": None, "rich": None, "pillow": "11.3.0"},
    oracles={"transformers.modeling_rope_utils:dynamic_rope_update": "4.51.3"},
)
def case(testbed: Testbed, target: Target) -> Results:
    """What the object does."""
    return USES[target.qualname](testbed, ask(target))


def _outcomes(*calls: Callable[[], Any]) -> Results:
    """What each call returns, or the type of its error."""
    lines = []
    for call in calls:
        try:
            lines.append(repr(call()))
        except Exception as error:
            lines.append(type(error).__name__)
    return {"outcomes": words(*lines)}


def _settings(testbed: Testbed, kind: Any) -> Results:
    code = "def forward(x, rope_parameters: 'RopeParameters' = None): return x"
    made = remote(code)
    return {"keys": words(*sorted(kind.__annotations__)), "made": torch.tensor([made["forward"](1), len(kind())])}


ROTARY = """
import torch
class Rotary(torch.nn.Module):
    def __init__(self, config, rope_type, function):
        super().__init__()
        self.config, self.rope_type, self.rope_init_fn = config, rope_type, function
        self.original_max_seq_len = self.max_seq_len_cached = config.max_position_embeddings
        inv_freq, self.attention_scaling = function(config, None)
        self.register_buffer("inv_freq", inv_freq, persistent=False)
        self.original_inv_freq = self.inv_freq
    def forward(self, x, position_ids):
        return position_ids[..., None] * self.inv_freq * self.attention_scaling
"""


def _updates(testbed: Testbed, decorator: Any) -> Results:
    from types import SimpleNamespace

    def frequencies(config: Any, device: Any, seq_len: Any = None) -> Any:
        return torch.arange(1.0, 4.0) * (1 if seq_len is None else int(seq_len)), 0.5 if seq_len is None else 0.25

    kind = remote(ROTARY)["Rotary"]
    kind.forward = decorator(kind.forward)
    results = {}
    for length in (None, 4):
        config = SimpleNamespace(max_position_embeddings=6)
        if length is not None:
            config.original_max_position_embeddings = length
        for name in ("default", "dynamic", "longrope"):
            rope = kind(config, name, frequencies)
            for number, count in enumerate((3, 8, 5, 9, 6, 2)):
                values = rope(testbed.randn(1, count, 2), torch.arange(count)[None])
                results[f"{length} {name} {number}"] = values
    return results


def _layers(testbed: Testbed, check: Any) -> Results:
    types = ["full_attention", "sliding_attention"]
    return _outcomes(lambda: check(types), lambda: check([*types, "none of them"]), lambda: check([]))


def _answers(testbed: Testbed, function: Any) -> Results:
    return _outcomes(function)


def _version(testbed: Testbed, compare: Any) -> Results:
    return _outcomes(lambda: compare("1.13"), lambda: compare("99.0"), lambda: compare("nothing"))


def _annotation(testbed: Testbed, annotation: Any) -> Results:
    from typing import TypedDict

    class Given(TypedDict, total=False):
        factor: int

    def forward(x: Any, **kwargs: annotation[Given]) -> Any:
        return x

    return {"output": torch.tensor(forward(1, factor=2))}


def _pictures() -> tuple[Any, Any, Any]:
    import numpy as np
    from PIL import Image

    return Image.new("RGB", (2, 3)), np.zeros((3, 2, 2)), torch.zeros(2, 3, 2, 2)


def _size(images: Any) -> Any:
    """The sizes of pictures, in their lists."""
    if isinstance(images, (list, tuple)):
        return type(images).__name__, [_size(image) for image in images]
    return tuple(getattr(images, "shape", ())) or images.size


def _size_of_a_picture(testbed: Testbed, kind: Any) -> Results:
    made, same, other = kind(height=2, width=3), kind(height=2, width=3), kind(shortest_edge=4)
    table = {made: "first", other: "second"}

    def change() -> None:
        made.height = 5

    calls = (change, lambda: made["depth"], lambda: made["width"], lambda: made["longest_edge"], lambda: table[same])
    return {**_outcomes(*calls, lambda: other.shortest_edge, lambda: repr(made)[:25])}


def _numbers(testbed: Testbed, kind: Any) -> Results:
    made = kind(num_image_tokens=[1, 2], num_image_patches=[3])
    names = ("num_image_tokens", "num_video_tokens", "nothing")
    calls = [lambda name=name: name in made for name in names] + [lambda name=name: made[name] for name in names]
    return _outcomes(*calls, lambda: made.num_image_patches, lambda: made == kind([1, 2], None, None, [3]))


def _concatenates(testbed: Testbed, concatenate: Any) -> Results:
    import numpy as np

    inputs: tuple[Any, ...] = ([[1], [2, 3]], [np.ones((1, 2)), np.zeros((2, 2))], [torch.ones(1, 2)] * 2, ["a"], [])
    return _outcomes(*(lambda given=given: repr(concatenate(given)) for given in inputs))


def _loads(testbed: Testbed, load: Any) -> Results:
    image = _pictures()[0]
    inputs: tuple[Any, ...] = (image, [image], (image, image), [[image], [image, image]], [])
    return _outcomes(*(lambda given=given: _size(load(given)) for given in inputs))


def _flattens(testbed: Testbed, flatten: Any) -> Results:
    image, array, batch = _pictures()
    inputs: tuple[Any, ...] = (
        image,
        array,
        batch,
        [image],
        (array, array),
        [batch, batch],
        [[image], [array]],
        [[batch]],
        5,
        [5],
        [[]],
    )
    return _outcomes(*(lambda given=given: _size(flatten(given)) for given in inputs))


def _auto(testbed: Testbed, kind: Any) -> Results:
    from transformers import BertConfig, BlipConfig, BlipTextConfig, BlipVisionConfig

    text = BlipTextConfig(**SIZES, vocab_size=64, encoder_hidden_size=16)
    vision = BlipVisionConfig(**SIZES, image_size=8, patch_size=4)
    config = BlipConfig(text_config=text.to_dict(), vision_config=vision.to_dict())
    model = kind.from_config(config)
    return _outcomes(lambda: type(model).__name__, lambda: kind.from_config(BertConfig(**SIZES)), lambda: kind.__name__)


def _constant(testbed: Testbed, value: Any) -> Results:
    return {"value": words(value)}


USES: dict[str, Callable[[Testbed, Any], Results]] = {
    "RopeParameters": _settings,
    "dynamic_rope_update": _updates,
    "layer_type_validation": _layers,
    "flash_attn_supports_top_left_mask": _answers,
    "is_rich_available": _answers,
    "is_kernels_available": _answers,
    "is_torch_greater_or_equal": _version,
    "Unpack": _annotation,
    "is_fsdp_enabled": _answers,
    "SizeDict": _size_of_a_picture,
    "MultiModalData": _numbers,
    "concatenate_list": _concatenates,
    "load_images": _loads,
    "make_flat_list_of_images": _flattens,
    "AutoModelForImageTextToText": _auto,
    "CHAT_TEMPLATE_FILE": _constant,
    "CHAT_TEMPLATE_DIR": _constant,
}
