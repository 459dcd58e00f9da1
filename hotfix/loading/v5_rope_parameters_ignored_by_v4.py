"""A checkpoint that 5.x has saved is read with a rotary base of 10000 and without its scaling.

Symptom   Silent. The model loads without a warning and computes wrong logits: `config.rope_theta` is the default of its
          class, `config.rope_scaling` is None, and nothing reads `rope_parameters`. Qwen2-VL and Qwen2.5-VL before 4.52
          even take the default sizes of their text model, and Qwen2-MoE of 4.40 and 4.41 refuses the 0 that 5.x writes
          for no sliding window.
Cause     5.x writes base, scaling and fraction of the rotary embedding into one dictionary, `rope_parameters`, or one
          for each kind of attention. 4.x keeps every unknown key as an attribute.
Releases  4.36.0 to 4.57.6, all that 4.x has
Upstream  vllm#42624, sglang#14745, DeepSpeed#8345 (the new form came with transformers 5.0.0)
Here      The keys get the names of the class in this release, also in sub-configurations, and the keys of
          `text_config` move to where this release reads them. The source of the class shows its arguments. A type of
          rotary embedding that the model cannot compute, or a key that it does not read, logs one line with the file
          and the key (an error in strict mode). A configuration that is built in code or has a class of your own, and a
          file that 4.x wrote, stay as they are. The caller's arguments take precedence. The keys of 5.x stay as
          attributes, so that 5.x reads a saved copy like the original. Logits are equal to those of 5.x.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hotfix.fix import Fix
from hotfix.loading._reading import translated
from hotfix.loading.forms import Rule

FIX = Fix(
    title="Wrong logits in transformers 4: rope_parameters of a checkpoint saved by 5.x is ignored",
    kind="silent",
    upstream=("vllm#42624", "vllm#44158", "sglang#14745", "DeepSpeed#8345", "lmdeploy#4304"),
    fixed_in="5.0.0",
)

CLASS = "PretrainedConfig"
FROM_DICT = f"transformers.configuration_utils:{CLASS}.from_dict"
RULES = frozenset({Rule.ROPE, Rule.TEXT, Rule.WINDOW})


@FIX.converts(
    (FROM_DICT, ">=4.36.0,<=4.57.6"),
    name="config_dict",
    at="config = cls(**config_dict)",
    given=("cls", "kwargs"),
    fingerprint_of=(f"{CLASS}.from_dict", f"{CLASS}.__init__"),
)
def with_rope_of_this_release(config: Mapping[str, Any], cls: type, given: dict[str, Any]) -> Mapping[str, Any]:
    """Move base and scaling to the names of the configuration class.

    Args:
        config: the content of the file.
        cls: the configuration class.
        given: the caller's keyword arguments.
    """
    if isinstance(given.get("rope_parameters"), dict) and "rope_parameters" in config:
        # In the form of 5.x, for a release that does not know it: it comes before what the file says.
        passed = {key: value for key, value in config.items() if key != "rope_scaling"}
        passed["rope_parameters"] = given["rope_parameters"]
        result = translated(FIX, RULES, passed, cls, given)
        return config if result is passed else result
    return translated(FIX, RULES, config, cls, given)
