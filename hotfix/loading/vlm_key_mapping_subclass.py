"""A class of one's own that extends a vision-language model is loaded with random weights.

Symptom   Silent but for "Some weights of … were not initialized": ``class Reward(Qwen2VLForConditionalGeneration)``
          (ColQwen2, reward models) has random weights after ``from_pretrained``, and ``save_pretrained`` writes names
          that no other program knows.
Cause     Whether names of the Hub are to be mapped goes by the name of the class itself, in which none of the names of
          the library stands.
Releases  4.52.1 to 4.53.0
Upstream  fixed in 4.53.1
Here      The classes that it extends are asked, too. Equal to 4.53.1.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    id="vlm-key-mapping-subclass",
    title="A class of one's own that extends a vision-language model is loaded with random weights",
    kind="silent",
    fixed_in="4.53.1",
    exempt={"transformers.integrations.peft:PeftAdapterMixin.load_adapter": "upstream has not repaired it in 4.x"},
)

RELEASES = ">=4.52.1,<=4.53.0"

FIX.edits(
    ("transformers.modeling_utils:PreTrainedModel.from_pretrained", RELEASES),
    old="any(allowed_name in cls.__name__.lower() for allowed_name in VLMS)",
    new="any(name in one.__name__.lower() for one in cls.__mro__[:-1] for name in VLMS)",
)

FIX.edits(
    ("transformers.modeling_utils:PreTrainedModel.save_pretrained", RELEASES),
    old="any(allowed_name in self.__class__.__name__.lower() for allowed_name in VLMS)",
    new="any(name in one.__name__.lower() for one in self.__class__.__mro__[:-1] for name in VLMS)",
)
