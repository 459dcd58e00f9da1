"""Lines of programs for 5.x on older releases: what runs gives the same with hotfix, and much of what ends runs."""

from __future__ import annotations

import pytest

from ._lines import check

pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

# Those that end with hotfix, too, in one of the releases, and why.
_ALGORITHM = "the release has no code that does it"
_CLASSES = "each attention of the release is a class of its own, or its functions are a plain dictionary"
_FORM = "the release has no form for a part of a model"
_HOOK = "4.x reads attributes of a configuration by code of the library, and the name is never asked for by the program"
_NOT_DONE = "it has a meaning in the release, and no fix yet"
_RIGHT = "the result is a right answer of the release: a list, or a tensor"
_TUPLES = "the cache that the model returns is a tuple"
STILL_END = {
    "attn_functions": _CLASSES,
    "attn_get": _CLASSES,
    "attn_interface": _CLASSES,
    "auto_image_text": _NOT_DONE,
    "auto_video": _ALGORITHM,
    "cache_dynamic_generate": "4.49.0 has no such name of a cache",
    "cache_layers": _TUPLES,
    "cache_layers_count": _TUPLES,
    "cache_layers_loop": _TUPLES,
    "cache_layers_write": _TUPLES,
    "cache_length": _TUPLES,
    "cache_static": "the batch size is not known when the cache is made",
    "cache_static_forward": "the batch size is not known when the cache is made",
    "chat_default": _RIGHT,
    "chat_default_splat": _RIGHT,
    "config_dtype_read": _HOOK,
    "config_fp_dtype": _HOOK,
    "config_layer_types_read": _ALGORITHM,
    "config_rope_read": _HOOK,
    "config_rope_type": _HOOK,
    "config_text": _HOOK,
    "config_text_decoder": _HOOK,
    "features_image": _RIGHT,
    "features_text": _RIGHT,
    "fp_attn_dict": _FORM,
    "gen_compile_config": _ALGORITHM,
    "gen_custom": _NOT_DONE,
    "gen_custom_generate": _ALGORITHM,
    "gen_logits": _ALGORITHM,
    "layer_call": "a layer returns a tuple",
    "llava_parts": "the model has another layout",
    "llava_token": _NOT_DONE,
    "mask": _ALGORITHM,
    "mask_bidirectional": _ALGORITHM,
    "mask_positions": _ALGORITHM,
    "mask_sliding": _ALGORITHM,
    "pipe_kwargs": "each class that the pipeline tries has the TypeError handled",
    "quant_bnb": "older releases ask for the package bitsandbytes there",
    "quant_mxfp4": _ALGORITHM,
    "quant_names": _ALGORITHM,
    "set_attn": _CLASSES,
    "set_attn_logits": _CLASSES,
    "t_collator": _ALGORITHM,
    "t_flatten": _NOT_DONE,
    "t_loss_func": _ALGORITHM,
    "t_parser": "the parser takes whole numbers only, and ends the process",
    "t_scheduler": "the release asks for the number of stable steps",
    "tokenizer_extra": _NOT_DONE,
    "tokenizer_fp_dict": _ALGORITHM,
    "tokenizer_padding_side": _NOT_DONE,
    "tokenizer_vocab": "the constructor takes files",
    "utils_capture": _ALGORITHM,
    "utils_generic": _ALGORITHM,
    "utils_images": _NOT_DONE,
    "utils_kwargs": _NOT_DONE,
    "utils_rope": _ALGORITHM,
    "utils_torch": _NOT_DONE,
    "utils_video": _ALGORITHM,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("release", ["4.44.2", "4.49.0", "4.53.3", "4.57.6"])
def test_what_runs_stays_and_much_of_the_rest_runs(release, tmp_path):
    check("lines_of_5.txt", release, STILL_END.keys(), tmp_path)
