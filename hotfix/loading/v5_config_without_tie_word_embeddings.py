"""A checkpoint of 4.x whose head is its embedding table is loaded in 5.x with a random head.

Symptom   Silent, except for one line of the load report that lists ``lm_head.weight`` as missing: the model writes
          gibberish, a masked language model scores at chance, the loss of a fine-tune begins at the logarithm of the
          vocabulary size.
Cause     4.x ties the head by default, and does not write this into the file; a vision-language model has it in
          ``text_config`` only. 5.x reads it from the main configuration: some classes have no default, others ignore
          ``text_config``.
Releases  Qwen2-VL, Qwen2.5-VL, GLM-4V, GLM-4V MoE 5.0.0 to 5.15.1, GLM-OCR 5.1.0 to 5.15.1; VideoLLaMA 3 5.0.0 to
          5.7.0; Janus 5.0.0 to 5.5.4; CamemBERT, ShieldGemma 2 5.0.0 to 5.3.0; InternVL, Florence-2, Mamba,
          Falcon Mamba, LFM2-VL, Ovis 2, DeepSeek-VL, LLaVA-OneVision, LLaVA-NeXT-Video 5.0.0
Upstream  transformers#42523, transformers#44671, transformers#44931, transformers#44976, transformers#45031,
          transformers#45857; the fixed release differs by class
Here      The configuration of a file that 4.x wrote takes the value of its ``text_config``, or the default of 4.x, as
          in 4.57.6. A value in the file stays, and a separate head in the file is loaded. A configuration that is built
          in code, or read from a file of 5.x or of an unnamed release, stays as it is in the release.
          Fast VLM (5.0.0), PerceptionLM, PE Audio-Video and I-BERT (to 5.5.4) have the same bug, and are not repaired:
          no case of the first three runs without timm, and the last has no function that could be edited.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    title="lm_head.weight missing in transformers 5: Qwen2.5-VL, InternVL, Mamba, CamemBERT saved by 4.x",
    kind="silent",
    upstream=(
        "transformers#42523",
        "transformers#43454",
        "transformers#44671",
        "transformers#44931",
        "transformers#44976",
        "transformers#45031",
        "transformers#45857",
        "vllm#33359",
    ),
    everyone="only for files that 4.x wrote: the new code tests it itself",
    fixed_in="5.16.0",  # the last class; the table has the release of each
    # The function that takes a missing value for False; it is judged with every class.
    prefilter='getattr(self.config, "tie_word_embeddings", False)',
)

_ASKS = "transformers.modeling_utils:PreTrainedModel.get_expanded_tied_weights_keys"

# Package, class, and the releases in which its `__init__`, later its `__post_init__`, ignores text_config.
_NOT_ASKED = (
    ("qwen2_vl", "Qwen2VLConfig", ">=5.0.0,<=5.3.0", ">=5.4.0,<=5.15.1"),
    ("qwen2_5_vl", "Qwen2_5_VLConfig", ">=5.0.0,<=5.3.0", ">=5.4.0,<=5.15.1"),
    ("glm4v", "Glm4vConfig", ">=5.0.0,<=5.3.0", ">=5.4.0,<=5.15.1"),
    ("glm4v_moe", "Glm4vMoeConfig", ">=5.0.0,<=5.3.0", ">=5.4.0,<=5.15.1"),
    ("glm_ocr", "GlmOcrConfig", ">=5.1.0,<=5.3.0", ">=5.4.0,<=5.15.1"),
    ("video_llama_3", "VideoLlama3Config", ">=5.0.0,<=5.3.0", ">=5.4.0,<=5.7.0"),
    ("llava_onevision", "LlavaOnevisionConfig", "==5.0.0", ""),
    ("llava_next_video", "LlavaNextVideoConfig", "==5.0.0", ""),
)
_AS_ITS_TEXT = 'getattr(getattr(self, "text_config", None), "tie_word_embeddings", True)'
# The same for classes without any default, and the default of the first fixed release.
_WITHOUT_DEFAULT = (
    ("internvl", "InternVLConfig", "==5.0.0", "", _AS_ITS_TEXT),
    ("florence2", "Florence2Config", "==5.0.0", "", _AS_ITS_TEXT),
    ("mamba", "MambaConfig", "==5.0.0", "", "True"),
    ("falcon_mamba", "FalconMambaConfig", "==5.0.0", "", "True"),
    ("lfm2_vl", "Lfm2VlConfig", "==5.0.0", "", 'getattr(self.text_config, "tie_embedding", True)'),
    ("ovis2", "Ovis2Config", "==5.0.0", "", _AS_ITS_TEXT),
    ("deepseek_vl", "DeepseekVLConfig", "==5.0.0", "", _AS_ITS_TEXT),
    (
        "shieldgemma2",
        "ShieldGemma2Config",
        ">=5.0.0,<=5.3.0",
        "",
        _AS_ITS_TEXT,
    ),
    ("camembert", "CamembertConfig", ">=5.0.0,<=5.3.0", "", "True"),
    ("janus", "JanusConfig", ">=5.0.0,<=5.3.0", ">=5.4.0,<=5.5.4", _AS_ITS_TEXT),
)

_KEY = "tie_word_embeddings"
_BASE_INIT = ("super().__init__(**kwargs)", "super().__init__(is_encoder_decoder=is_encoder_decoder, **kwargs)")
_BASE_POST_INIT = "super().__post_init__(**kwargs)"
_OF_4X = f"from {__name__} import is_of_4x\nif is_of_4x(self, kwargs):\n    {{statement}}"
_OF_TEXT = f'bool({{own}} or getattr(getattr(self, "text_config", None), "{_KEY}", False))'


def _place(package: str, name: str, method: str, releases: str) -> dict[str, Any]:
    module = f"transformers.models.{package}.configuration_{package}"
    return {
        "targets": (f"{module}:{name}.{method}", releases),
        "fingerprint_of": (f"{name}.{method}", name, _ASKS),
    }


def _put_before(place: dict[str, Any], statement: str, *calls: str) -> None:
    statement = _OF_4X.format(statement=statement)
    FIX.edits(
        place["targets"],
        old=calls,
        new=[f"{statement}\n{call}" for call in calls],
        alternatives=True,
        fingerprint_of=place["fingerprint_of"],
    )


for _package, _name, _early, _late in _NOT_ASKED:
    _statement = f"self.{_KEY} = {_OF_TEXT.format(own=_KEY)}"
    _put_before(_place(_package, _name, "__init__", _early), _statement, *_BASE_INIT)
    if _late:
        _statement = f"self.{_KEY} = {_OF_TEXT.format(own=f'self.{_KEY}')}"
        _put_before(_place(_package, _name, "__post_init__", _late), _statement, _BASE_POST_INIT)

for _package, _name, _early, _late, _default in _WITHOUT_DEFAULT:
    _statement = f'kwargs.setdefault("{_KEY}", {_default})'
    _put_before(_place(_package, _name, "__init__", _early), _statement, *_BASE_INIT)
    if _late:
        _put_before(_place(_package, _name, "__post_init__", _late), _statement, _BASE_POST_INIT)


def is_of_4x(config: Any, given: Mapping[str, Any]) -> bool:
    """Whether a configuration is read from a file that 4.x wrote, as the file says.

    Args:
        config: the configuration, which may have the release as an attribute.
        given: the keyword arguments of its constructor.
    """
    written = str(getattr(config, "transformers_version", None) or given.get("transformers_version") or "")
    return written.partition(".")[0] == "4"


@FIX.recognises
def says_nothing(*nodes: ast.AST) -> bool:
    """Whether a configuration class has no default that ties the head, and does not ask its ``text_config`` either."""
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    return bool(classes) and len(nodes) > 1 and not any(_ties(node) for cls in classes for node in ast.walk(cls))


def _ties(node: ast.AST) -> bool:
    if isinstance(node, ast.If):
        words = ast.dump(node)
        return _KEY in words and "text_config" in words
    if isinstance(node, ast.AnnAssign):
        return isinstance(node.target, ast.Name) and node.target.id == _KEY and _is_true(node.value)
    if isinstance(node, ast.Assign):  # of 5.1.0, in LFM2-VL
        return _KEY in ast.dump(node.targets[0]) and "text_config" in ast.dump(node.value)
    if isinstance(node, ast.arguments):
        defaults = node.args[len(node.args) - len(node.defaults) :]
        return any(default.arg == _KEY and _is_true(value) for default, value in zip(defaults, node.defaults))
    return False


def _is_true(node: Any) -> bool:
    return isinstance(node, ast.Constant) and node.value is True
