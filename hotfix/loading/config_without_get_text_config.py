"""Models with a configuration of their own kind cannot be loaded.

Symptom   ``AttributeError: 'Config' object has no attribute 'get_text_config'`` from ``from_pretrained`` of BiRefNet
          and other remote code that sets ``self.config`` to an object of a plain class.
Cause     Tying, resizing and initializing read the text configuration with ``get_text_config``.
Releases  4.49.0 to 4.57.6 for tying, 4.54.0 and later for initializing, 4.45.0 and later for resizing
Upstream  BiRefNet#199, ComfyUI#6879, GF_nodes#4 (not repaired)
Here      A configuration without the method is its own text configuration, as in the releases before.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix
from hotfix.patching import scope

FIX = Fix(
    title="AttributeError: 'Config' object has no attribute 'get_text_config'",
    kind="loading",
    upstream=("BiRefNet#199", "ComfyUI#6879", "GF_nodes#4"),
    group="removed-names",
    errors=("AttributeError: '…' object has no attribute 'get_text_config'",),
    when=f"from {__name__} import is_plain; is_plain(self.config)",
    exempt={
        **{
            f"transformers.{place}": "its configuration is one of the library, or the program has asked for this part"
            for place in (
                "models.*",
                "integrations.*",
                "quantizers.*",
                "generation.*",
                "modeling_layers:*",
                "generation.utils:GenerationMixin._beam_search",
                "models.gemma3n.modeling_gemma3n:Gemma3nPreTrainedModel._init_weights",
                "models.got_ocr2.modeling_got_ocr2:GotOcr2PreTrainedModel._init_weights",
                "models.idefics2.modeling_idefics2:Idefics2PreTrainedModel._init_weights",
                "models.llama4.modeling_llama4:Llama4TextModel.forward",
                "models.llava_next.modeling_llava_next:LlavaNextPreTrainedModel._init_weights",
                "models.llava_next_video.modeling_llava_next_video:LlavaNextVideoPreTrainedModel._init_weights",
                "models.llava_onevision.modeling_llava_onevision:LlavaOnevisionPreTrainedModel._init_weights",
                "models.mllama.modeling_mllama:MllamaForConditionalGeneration.forward",
                "models.paligemma.modeling_paligemma:PaliGemmaModel.__init__",
                "models.parakeet.modeling_parakeet:ParakeetPreTrainedModel._init_weights",
            )
        },
        "transformers.modeling_utils:PreTrainedModel.supports_context_parallel": "asked in parallel training alone",
    },
)

_MODEL = "transformers.modeling_utils:PreTrainedModel"

FIX.edits(
    (f"{_MODEL}.tie_weights", ">=4.49.0,<4.56.0"),
    (f"{_MODEL}.tie_embeddings_and_encoder_decoder", ">=4.56.0,<5.0.0"),
    (f"{_MODEL}._resize_token_embeddings", ">=4.49.0,<5.0.0"),
    old="self.config.get_text_config(decoder=True)",
    new="self.config",
)
FIX.edits(
    (f"{_MODEL}._initialize_missing_keys", ">=4.50.0,<4.57.0"),
    old="self.config.get_text_config(decoder=True)",
    new="self.config",
    count=2,
)
FIX.edits(
    (f"{_MODEL}._load_pretrained_model", ">=4.49.0,<4.50.0"),
    old="model.config.get_text_config(decoder=True)",
    new="model.config",
    count=2,
    when=f"from {__name__} import is_plain; is_plain(model.config)",
)
FIX.edits(
    (f"{_MODEL}._init_weights", ">=4.54.0"),
    (f"{_MODEL}.resize_token_embeddings", ">=4.45.0"),
    old="self.config.get_text_config()",
    new="self.config",
)


def is_plain(config: Any) -> bool:
    """Whether a configuration lacks the method, and the program would crash at that."""
    if hasattr(config, "get_text_config"):
        return False
    return not scope.is_handled_around(FIX.id, AttributeError)
