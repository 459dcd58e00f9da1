"""A checkpoint that 5.x has saved is read with a rotary base of 10000 and without its scaling.

Symptom   Silent. The model loads without a word and computes wrong logits: `config.rope_theta` is the default of its
          class, `config.rope_scaling` is None, and beside them stands `rope_parameters`, which nothing reads.
          Qwen2-VL and Qwen2.5-VL before 4.52 even take the default sizes of their text model, and Qwen2-MoE of 4.40 and
          4.41 refuses the 0 that 5.x writes where there is no sliding window.
Cause     5.x writes base, scaling and fraction of rotary embedding into one dictionary, `rope_parameters`, for models
          with several sorts of attention one for each sort; 4.x takes every key that it does not know for an attribute.
Releases  4.36.0 to 4.57.6, all that 4.x has
Upstream  vllm#42624, sglang#14745, DeepSpeed#8345 (the new form came with transformers 5.0.0)
Here      What is read gets the names that the class has in this release, in sub-configurations, too, and the keys of
          `text_config` stand where this release looks for them. What the class takes is read from its source. A type of
          rotary embedding that the model of this release does not compute, or a key that nothing in it reads, is one
          line that names the file and the key (an error in strict mode). A configuration that is built in code, or of a
          class of your own, is not touched, nor a file that 4.x wrote; what the caller passes wins. The keys of 5.x
          stay as attributes, so that 5.x reads what is saved again as it read the original. Equal to what 5.x computes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hotfix.fix import Fix
from hotfix.loading._reading import translated
from hotfix.loading.forms import Rule

FIX = Fix(
    title="A checkpoint that 5.x has saved is read with a rotary base of 10000 and without its scaling",
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
    """A configuration with base and scaling under the names of its class.

    Args:
        config: what was read.
        cls: the configuration class.
        given: what the caller has passed by keyword.
    """
    if isinstance(given.get("rope_parameters"), dict) and "rope_parameters" in config:
        # In the form of 5.x, for a release that does not know it: it comes before what the file says.
        passed = {key: value for key, value in config.items() if key != "rope_scaling"}
        passed["rope_parameters"] = given["rope_parameters"]
        result = translated(FIX, RULES, passed, cls, given)
        return config if result is passed else result
    return translated(FIX, RULES, config, cls, given)
