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
_NOT_DONE = "it has a meaning in the release, and no fix yet"
_PARTS = "its processor takes tokenizers of its own model only"
_RIGHT = "the result is a right answer of the release: a list, or a tensor"
_TUPLES = "the cache that the model returns is a tuple"
STILL_END = {
    "attn_functions": _CLASSES,
    "attn_get": _CLASSES,
    "attn_interface": _CLASSES,
    "attn_mask_interface": _CLASSES,
    "auto_audio": _ALGORITHM,
    "auto_names": _ALGORITHM,
    "auto_video": _ALGORITHM,
    "auto_video_class": _ALGORITHM,
    "cache_dynamic_generate": "4.49.0 has no such name of a cache",
    "cache_layer_import": _ALGORITHM,
    "cache_layers": _TUPLES,
    "cache_layers_count": _TUPLES,
    "cache_layers_loop": _TUPLES,
    "cache_layers_write": _TUPLES,
    "cache_length": _TUPLES,
    "cache_mask_sizes": _ALGORITHM,
    "cache_reset": _NOT_DONE,
    "cache_sliding_layer": _ALGORITHM,
    "cache_static": "the batch size is not known when the cache is made",
    "cache_static_forward": "the batch size is not known when the cache is made",
    "chat_default": _RIGHT,
    "chat_default_splat": _RIGHT,
    "chat_message_with_prefix": _ALGORITHM,
    "chat_parse_response": _ALGORITHM,
    "config_dtype_read": "before 4.50.0, or after a line has given a dtype that the release ignores, it may be another",
    "config_fp_dtype": "the release ignores the argument, so its value cannot be read",
    "config_layer_types_read": _ALGORITHM,
    "config_rope_theta_dict": _ALGORITHM,
    "features_image": _RIGHT,
    "features_text": _RIGHT,
    "forward_logits_to_keep": _ALGORITHM,
    "forward_shift_labels": _ALGORITHM,
    "fp_attn_dict": _FORM,
    "fp_dtype_dict": _FORM,
    "fp_experts": _NOT_DONE,
    "fp_key_mapping": _ALGORITHM,
    "gen_cache_name": "4.49.0 has no such name of a cache",
    "gen_compile_class": _ALGORITHM,
    "gen_compile_config": _ALGORITHM,
    "gen_continuous": _ALGORITHM,
    "gen_custom": "only releases before 4.47.0 compile nothing by themselves, and `generate` does not show which it is",
    "gen_custom_generate": _ALGORITHM,
    "gen_logits": _ALGORITHM,
    "gen_past_output": _TUPLES,
    "gen_streamer_mode": _ALGORITHM,
    "gen_watermark": _ALGORITHM,
    "layer_call": "a layer returns a tuple",
    "llava_parts": "the model has another layout",
    "mask": _ALGORITHM,
    "mask_bidirectional": _ALGORITHM,
    "mask_packed": _ALGORITHM,
    "mask_positions": _ALGORITHM,
    "mask_sliding": _ALGORITHM,
    "mask_utils_import": _ALGORITHM,
    "model_layers_class": _ALGORITHM,
    "model_loss_function": _ALGORITHM,
    "model_own_classifier": _ALGORITHM,
    "model_set_attn_eager": _CLASSES,
    "model_tied": "4.x has a list of names there, and ties by methods",
    "pipe_any": _ALGORITHM,
    "pipe_image_text": _ALGORITHM,
    "pipe_kwargs": "each class that the pipeline tries has the TypeError handled",
    "proc_audio_utils": _ALGORITHM,
    "proc_batch_decode": _PARTS,
    "proc_clip_call": _PARTS,
    "proc_clip_kwargs": _PARTS,
    "proc_image_auto": "the release looks for a configuration of a model, and an error of several kinds follows",
    "proc_model_inputs": _PARTS,
    "proc_video_utils": _ALGORITHM,
    "quant_bnb": "older releases ask for the package bitsandbytes there",
    "quant_bnb_dtype": "older releases ask for the package bitsandbytes there",
    "quant_mxfp4": _ALGORITHM,
    "quant_names": _ALGORITHM,
    "quant_torchao": _ALGORITHM,
    "set_attn": _CLASSES,
    "set_attn_logits": _CLASSES,
    "t_collator": _ALGORITHM,
    "t_loss_func": _ALGORITHM,
    "t_parser": "the parser takes whole numbers only, and ends the process",
    "t_scheduler": "the release asks for the number of stable steps",
    "tokenizer_extra": "the release handles the error itself, and then asks for protobuf",
    "tokenizer_fp_dict": _ALGORITHM,
    "tokenizer_named_special": _ALGORITHM,
    "tokenizer_vocab": "the constructor takes files",
    "trainer_args_hub": "the release pushes to the default branch of a repository, which may have another name",
    "trainer_args_new": _ALGORITHM,
    "trainer_args_train_sampling": _NOT_DONE,
    "trainer_args_use_cache": "later releases write it into the configuration of the model",
    "trainer_callback_optimizer": "the Trainer does not call it",
    "trainer_utils_import": "a strategy of it has no algorithm in the release",
    "utils_all_attn": _CLASSES,
    "utils_capture": _ALGORITHM,
    "utils_chat_module": _ALGORITHM,
    "utils_conversion": _ALGORITHM,
    "utils_fsdp": _NOT_DONE,
    "utils_generic": _ALGORITHM,
    "utils_hub_constants": _ALGORITHM,
    "utils_import_structure": _ALGORITHM,
    "utils_loss": _ALGORITHM,
    "utils_no_init": _NOT_DONE,
    "utils_sdpa": _ALGORITHM,
    "utils_video": _ALGORITHM,
}


@pytest.mark.drawn(1, "lines")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("release", ["4.44.2", "4.49.0", "4.53.3", "4.57.6"])
def test_what_runs_stays_and_much_of_the_rest_runs(release, tmp_path):
    check("lines_of_5.txt", release, STILL_END.keys(), tmp_path)
