"""BLIP-2 and InstructBLIP cannot caption a picture: their prompt has no places for it.

Symptom   ``generate(**processor(images=image))`` ends with an error about shapes, one of them ``[0]``, at
          ``inputs_embeds[special_image_mask] = …``, with a checkpoint from the hub as it has been since November 2024.
Cause     Its configuration names a token for places of the picture. Up to 4.46.3, the prompt that ``generate`` makes
          itself has none; a processor from before that time puts none into a text.
Releases  4.45.0 to 4.53.3
Upstream  transformers#34876 (a prompt of ``generate`` has the places since 4.47.0)
Here      The picture goes before a prompt without places, as for a configuration that names no token. A prompt with
          some places, but too few, raises as before.
"""

from __future__ import annotations

from hotfix.fix import Fix

_MISMATCH = (
    "RuntimeError: shape mismatch: value tensor of shape […] cannot be broadcast to indexing result of shape [0]"
)

FIX = Fix(
    title="BLIP-2 and InstructBLIP cannot caption a picture: their prompt has no places for it",
    kind="crash",
    upstream=("transformers#34876",),
    on_error=(_MISMATCH,),
    prefilter="special_image_mask",
)

MODELS = {"blip_2": "Blip2", "instructblip": "InstructBlip", "instructblipvideo": "InstructBlipVideo"}


FIX.edits(
    *(
        (f"transformers.models.{folder}.modeling_{folder}:{name}ForConditionalGeneration.generate", ">=4.45.0,<4.54.0")
        for folder, name in MODELS.items()
    ),
    old="""
        if __TEST:
            special_image_mask = (input_ids == __TOKEN).unsqueeze(-1).expand_as(inputs_embeds)
            *__IN_ITS_PLACES
        else:
            *__IN_FRONT
    """,
    new="""
        if __TEST and (input_ids == __TOKEN).any():
            special_image_mask = (input_ids == __TOKEN).unsqueeze(-1).expand_as(inputs_embeds)
            *__IN_ITS_PLACES
        else:
            *__IN_FRONT
    """,
    beside='generate_kwargs.get("max_length", 20)',  # in `forward`, the places are the program's own
)
