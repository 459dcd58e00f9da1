"""The bugs that the files of a checkpoint show: a rule for each fix that has one, under the name of its module.

A rule takes the checkpoint and the release, and yields the entries that the release would misread or refuse without the
fix. It is called only for releases in which the fix has broken targets, so it checks a release itself only if the
targets do not decide it. Rules import no library, and read nothing but the `Checkpoint`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from packaging.version import Version

from ..loading import forms, tokenizer_forms
from ._checkpoint import (
    CONFIG,
    INDEX,
    PROCESSOR,
    SINGLE,
    TOKENIZER,
    TOKENIZER_CONFIG,
    TWO_LAYOUTS,
    Checkpoint,
    Effect,
    Misreading,
    configurations,
    dictionary,
    parsed,
)

_BASE_IS_TEXT = ("gemma3", "shieldgemma2")  # before 4.52 they loaded these names into their text model only
_NAMED_TWICE = "Only 5.4 and 5.5 use these names; this release ignores the weights and initializes its own at random."
_NEW = Version("4.52.0")
"""The first release with the new names of weights."""
_EXPERTS = {
    "qwen3_moe": (128, Version("5.1.0")),
    "qwen3_omni_moe_talker_text": (128, Version("5.1.0")),
    "qwen3_vl_moe_text": (60, Version("5.4.0")),
}
"""By model type: the default number of experts, and the first release that reads both keys."""
_WITH_TEMPLATE = ("LlamaTokenizer", "CodeLlamaTokenizer", "GemmaTokenizer", "CohereTokenizer")
_TOWERS = ("clip_vision_model", "siglip_vision_model")


def chat_template_jinja_file_ignored(
    checkpoint: Checkpoint, version: Version, release: forms.Release
) -> Iterator[Misreading]:
    """A chat template in its own file."""
    name = "chat_template.jinja"
    inside = checkpoint.json.get(TOKENIZER_CONFIG, {}).get("chat_template")
    if name in checkpoint.files and not inside:
        sentence = "The tokenizer of this release does not read this file, so it has no chat template."
        yield Misreading(name, "", Effect.MISREAD, sentence)


def extra_special_tokens_list(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Misreading]:
    """A list of extra special tokens, for a release that expects a dictionary."""
    given = checkpoint.json.get(TOKENIZER_CONFIG, {}).get("extra_special_tokens")
    if isinstance(given, list) and version >= Version("4.47.0"):
        sentence = "It is a list, and this release expects a dictionary: AttributeError."
        yield Misreading(TOKENIZER_CONFIG, "extra_special_tokens", Effect.REFUSED, sentence)


def gemma3_two_layouts_into_base(
    checkpoint: Checkpoint, version: Version, release: forms.Release
) -> Iterator[Misreading]:
    """Names of weights that only 5.4 and 5.5 write, for models whose base was a text model."""
    if checkpoint.needs_code or release.class_of(checkpoint.model_type) is None:
        return
    if version < _NEW and _is_read_into_base(checkpoint):
        yield Misreading(_file_of(checkpoint), checkpoint.new_layout, Effect.MISREAD, _NAMED_TWICE)


def lfm2vl_layernorm_though_off(
    checkpoint: Checkpoint, version: Version, release: forms.Release
) -> Iterator[Misreading]:
    """A projector without a LayerNorm; with the weights of one, it was trained on a release that has it anyway."""
    key = "projector_use_layernorm"
    is_one = checkpoint.model_type in ("lfm2_vl", "lfm2-vl") and not checkpoint.needs_code
    has_weights = any(".multi_modal_projector.layer_norm." in f".{name}" for name in checkpoint.keys)
    if is_one and not checkpoint.config.get(key, True) and not has_weights:
        sentence = "This release puts a LayerNorm into the projector all the same, and the features of images differ."
        yield Misreading(CONFIG, key, Effect.MISREAD, sentence)


def phi3_longrope_type_refused(
    checkpoint: Checkpoint, version: Version, release: forms.Release
) -> Iterator[Misreading]:
    """The name of the rotary embedding type of Phi-3."""
    understood = release.class_of(checkpoint.model_type)
    given = checkpoint.config.get("rope_scaling")
    if understood is None or not isinstance(given, Mapping) or release.knows_rope_parameters():
        return
    is_known = "longrope" in understood.types
    spelled = given.get("rope_type") or given.get("type")
    if is_known and spelled == "longrope" and '"su"' in understood.text and '"longrope"' not in understood.text:
        sentence = f"{understood.name} of this release calls the type 'longrope' 'su', and refuses other names."
        yield Misreading(CONFIG, "rope_scaling.type", Effect.REFUSED, sentence)


def processor_config_nested(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Misreading]:
    """Several processors in one file."""
    described = checkpoint.json.get(PROCESSOR, {})
    for key in ("image_processor", "video_processor", "feature_extractor"):
        own = "video_preprocessor_config.json" if key == "video_processor" else "preprocessor_config.json"
        if isinstance(described.get(key), dict) and own not in checkpoint.files:
            sentence = f"This release looks for it in {own}, which does not exist."
            yield Misreading(PROCESSOR, key, Effect.REFUSED, sentence)


def qwen3_moe_experts_key(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Misreading]:
    """The number of experts, under the key of 5.x."""
    if checkpoint.needs_code or release.class_of(checkpoint.model_type) is None:
        return
    for at, config in configurations(checkpoint.config):
        default, since = _EXPERTS.get(str(config.get("model_type", "")), (0, version))
        number = config.get("num_local_experts")
        if default and version < since and "num_experts" not in config and number not in (None, default):
            sentence = (
                f"It is {number}; this release reads num_experts only and uses its default {default}, so the weights "
                f"do not fit. {since} is the first release that reads both keys."
            )
            yield Misreading(CONFIG, f"{at}num_local_experts", Effect.REFUSED, sentence)


def safetensors_metadata_none(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Misreading]:
    """Files of weights that do not name their framework."""
    for name, said in checkpoint.formats.items():
        if said is None:
            sentence = "Its header names no format: AttributeError: 'NoneType' object has no attribute 'get'."
            yield Misreading(name, "__metadata__", Effect.REFUSED, sentence)


def tokenizer_class_tokenizersbackend(
    checkpoint: Checkpoint, version: Version, release: forms.Release
) -> Iterator[Misreading]:
    """The tokenizer class that 5.x writes."""
    described = checkpoint.json.get(TOKENIZER_CONFIG, {})
    name = described.get("tokenizer_class")
    if name == "TokenizersBackend" and "AutoTokenizer" not in dictionary(described.get("auto_map")):
        sentence = f"{name} is new in 5.0.0; AutoTokenizer of this release refuses it."
        yield Misreading(TOKENIZER_CONFIG, "tokenizer_class", Effect.REFUSED, sentence)


def tokenizer_local_config_dict(
    checkpoint: Checkpoint, version: Version, release: forms.Release
) -> Iterator[Misreading]:
    """A large tokenizer in a folder with a configuration."""
    vocabulary = dictionary(checkpoint.json.get(TOKENIZER, {}).get("model")).get("vocab")
    size = len(vocabulary) if isinstance(vocabulary, (dict, list)) else 0
    writer = parsed(str(checkpoint.config.get("transformers_version", "")))
    if size > 100_000 and writer is not None and writer <= version:
        sentence = f"It has {size} tokens; with a {CONFIG} next to it, this release loads at most 100,000."
        yield Misreading(TOKENIZER, "model.vocab", Effect.REFUSED, sentence)


def tokenizers_modelwrapper_merges_list(
    checkpoint: Checkpoint, version: Version, release: forms.Release
) -> Iterator[Misreading]:
    """Merges in the form of tokenizers 0.20 and later."""
    written = dictionary(checkpoint.json.get(TOKENIZER, {}).get("model")).get("merges")
    is_new = isinstance(written, list) and bool(written) and isinstance(written[0], list)
    if is_new:
        sentence = "They are pairs; this release needs tokenizers before 0.20, which only reads strings."
        yield Misreading(TOKENIZER, "model.merges", Effect.REFUSED, sentence)


def torch_dtype_key_dtype_in_v4(
    checkpoint: Checkpoint, version: Version, release: forms.Release
) -> Iterator[Misreading]:
    """The dtype in config.json, which 4.x reads under another name."""
    if checkpoint.needs_code:
        return
    for translated in checkpoint.translation(release):
        if translated.key.rpartition(".")[2] == "dtype":
            sentence = f'{translated.sentence} `torch_dtype="auto"` uses the dtype of the weights.'
            yield Misreading(translated.file, translated.key, Effect.NOTE, sentence)


def v5_add_bos_token_not_written(
    checkpoint: Checkpoint, version: Version, release: forms.Release
) -> Iterator[Misreading]:
    """Special tokens at the ends of a text, whose flags 5.x does not save."""
    described = checkpoint.json.get(TOKENIZER_CONFIG, {})
    name = str(described.get("tokenizer_class", ""))
    if name.replace("TokenizerFast", "Tokenizer") not in _WITH_TEMPLATE:
        return
    meant, findings = tokenizer_forms.ends_of_template(described, checkpoint.json.get(TOKENIZER, {}))
    if findings and (meant["add_bos_token"], meant["add_eos_token"]) != (True, False):
        sentence = f"{findings[0].sentence} {name} of this release adds the begin-of-sequence token."
        yield Misreading(TOKENIZER_CONFIG, "add_bos_token", Effect.MISREAD, sentence)


def v5_additional_special_tokens_lost(
    checkpoint: Checkpoint, version: Version, release: forms.Release
) -> Iterator[Misreading]:
    """A list of special tokens next to an empty dictionary of them."""
    described = checkpoint.json.get(TOKENIZER_CONFIG, {})
    key = "additional_special_tokens"
    empty = "extra_special_tokens" in described and not described["extra_special_tokens"]
    if described.get(key) and empty:
        sentence = "This release uses the empty extra_special_tokens instead, so these tokens are no longer special."
        yield Misreading(TOKENIZER_CONFIG, key, Effect.MISREAD, sentence)


def v5_gpt_neox_rotary_pct_lost(
    checkpoint: Checkpoint, version: Version, release: forms.Release
) -> Iterator[Misreading]:
    """The share of a head that GPT-NeoX rotates."""
    said = dictionary(checkpoint.config.get("rope_parameters")).get("partial_rotary_factor")
    if checkpoint.model_type == "gpt_neox" and said not in (None, 0.25):
        sentence = f"It is {said}, and this release overwrites it with {checkpoint.config.get('rotary_pct', 0.25)}."
        key = "rope_parameters.partial_rotary_factor"
        yield Misreading(CONFIG, key, Effect.MISREAD, sentence)


def v5_rope_parameters_ignored_by_v4(
    checkpoint: Checkpoint, version: Version, release: forms.Release
) -> Iterator[Misreading]:
    """Rotary embedding parameters of 5.x in config.json, which 4.x reads under other names."""
    if checkpoint.needs_code:
        return
    for translated in checkpoint.translation(release):
        if translated.outcome is forms.Outcome.TRANSLATED and translated.key.rpartition(".")[2] != "dtype":
            yield Misreading(translated.file, translated.key, Effect.MISREAD, translated.sentence)


def vlm_checkpoint_key_layout_new_to_old(
    checkpoint: Checkpoint, version: Version, release: forms.Release
) -> Iterator[Misreading]:
    """Names of weights of vision-language models that a release does not know."""
    file = _file_of(checkpoint)
    if checkpoint.needs_code or release.class_of(checkpoint.model_type) is None:
        return
    new = checkpoint.new_layout if version < _NEW else ""
    if new and not _is_read_into_base(checkpoint):
        sentence = "These names are new in 4.52; this release ignores the weights and initializes its own at random."
        yield Misreading(file, new, Effect.MISREAD, _NAMED_TWICE if new.startswith(TWO_LAYOUTS) else sentence)
    both = checkpoint.two_layouts
    if both and not new and not Version("5.4.0") <= version < Version("5.6.0") and version < Version("5.9.0"):
        yield Misreading(file, both, Effect.MISREAD, _NAMED_TWICE)
    tower = checkpoint.tower
    kind = dictionary(checkpoint.config.get("vision_config")).get("model_type", "clip_vision_model")
    if tower and version < Version("5.6.0") and kind in _TOWERS and not tower.startswith("vision_model."):
        sentence = "Before 5.6, towers have a module `vision_model`; this release initializes it at random."
        yield Misreading(file, tower, Effect.MISREAD, sentence)


# ----------------------------------------------------------------------------------------------------------------------


def _file_of(checkpoint: Checkpoint) -> str:
    """The file with the names of the weights."""
    return INDEX if INDEX in checkpoint.files else SINGLE


def _is_read_into_base(checkpoint: Checkpoint) -> bool:
    """Whether a release before `_NEW` loads weights in two layouts into the text model of this model."""
    return checkpoint.new_layout.startswith(TWO_LAYOUTS) and checkpoint.model_type in _BASE_IS_TEXT
