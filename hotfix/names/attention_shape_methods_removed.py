"""Attention modules do not have the methods any more that give the heads a dimension of their own.

Symptom   ``AttributeError: 'BertSelfAttention' object has no attribute 'transpose_for_scores'`` from a subclass or a
          patched forward (adapters, optimum-habana, explainability, pruning); the same of ``_shape`` (CLIP, BART,
          Whisper, OPT, wav2vec2), and of ``_split_heads`` and ``_merge_heads`` (GPT-2, GPT-NeoX, GPT-J).
Cause     ``forward`` does it itself.
Releases  ``transpose_for_scores`` 4.54.0 and later; ``_shape`` 4.38.0 (Llama) to 4.54.0 (LED) and later;
          the two others 4.48.0 (GPT-2), 4.49.0 (GPT-NeoX), 5.24.0 (GPT-J, CodeGen) and later
Upstream  optimum-habana#2300 (not put back)
Here      The same dimensions, as views where the last release with the method returned views.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hotfix.fix import Fix

if TYPE_CHECKING:
    import torch

FIX = Fix(
    title="AttributeError: 'BertSelfAttention' object has no attribute 'transpose_for_scores'",
    kind="removed-api",
    upstream=("optimum-habana#2300",),
    group="removed-names",
    errors=tuple(
        f"AttributeError: '…Attention' object has no attribute '{name}'"
        for name in ("transpose_for_scores", "_shape", "_split_heads", "_merge_heads")
    ),
)

FOR_SCORES = {
    ">=4.54.0": """
        albert:AlbertAttention bert:BertSelfAttention big_bird:BigBirdSelfAttention
        blip.blip_text:BlipTextSelfAttention electra:ElectraSelfAttention layoutlmv3:LayoutLMv3SelfAttention
        mpnet:MPNetSelfAttention roberta:RobertaSelfAttention xlm_roberta:XLMRobertaSelfAttention
    """,
    ">=4.54.0,<5.9.0": """
        audio_spectrogram_transformer:ASTSelfAttention beit:BeitSelfAttention deit:DeiTSelfAttention
        swin:SwinSelfAttention vit:ViTSelfAttention vit_mae:ViTMAESelfAttention
    """,
    ">=4.54.0,<5.18.0": """
        dinov2:Dinov2SelfAttention dinov2_with_registers:Dinov2WithRegistersSelfAttention
    """,
}
SHAPE = {
    ">=4.38.0": "llama:LlamaAttention",
    ">=4.42.0": "mistral:MistralAttention",
    ">=4.49.0": "opt:OPTAttention",
    ">=4.52.1": """
        bart:BartAttention clip:CLIPAttention m2m_100:M2M100Attention mbart:MBartAttention
        whisper:WhisperAttention x_clip:XCLIPAttention
    """,
    ">=4.53.0": """
        hubert:HubertAttention wav2vec2:Wav2Vec2Attention
    """,
    ">=4.54.0": """
        led:LEDDecoderAttention
    """,
}
"""Folder, perhaps the name of the module, and class, by the releases that have the class without the method."""
GPT = ("transformers.models.gpt2.modeling_gpt2:GPT2Attention", ">=4.48.0")
NEOX = ("transformers.models.gpt_neox.modeling_gpt_neox:GPTNeoXAttention", ">=4.49.0")
J = ("transformers.models.gptj.modeling_gptj:GPTJAttention", ">=5.24.0")
CODEGEN = ("transformers.models.codegen.modeling_codegen:CodeGenAttention", ">=5.24.0")


def _targets(table: dict[str, str], method: str) -> list[tuple[str, str]]:
    targets = []
    for releases, entries in table.items():
        for place, _, name in (entry.partition(":") for entry in entries.split()):
            folder, _, module = place.partition(".")
            path = f"transformers.models.{folder}.modeling_{module or folder}:{name}.{method}"
            targets.append((path, releases))
    return targets


@FIX.adds(*_targets(FOR_SCORES, "transpose_for_scores"))
def transpose_for_scores(self: Any, x: torch.Tensor) -> torch.Tensor:
    """Give the heads a dimension: (texts, tokens, width) becomes (texts, heads, tokens, width of a head), a view."""
    heads = x.view(*x.shape[:-1], self.num_attention_heads, self.attention_head_size)
    return heads.permute(0, 2, 1, 3)


@FIX.adds(*_targets(SHAPE, "_shape"))
def _shape(self: Any, tensor: torch.Tensor, seq_len: int, bsz: int) -> torch.Tensor:
    """Give the heads a dimension: (texts, tokens, width) becomes (texts, heads, tokens, width of a head), contiguous.

    Args:
        self: the attention.
        tensor: projected states, of any shape with so many elements.
        seq_len: the number of tokens, or -1.
        bsz: the number of texts.
    """
    heads = vars(self).get("num_heads")  # Llama's are in the configuration, since 4.48
    heads = self.config.num_attention_heads if heads is None else heads
    return tensor.view(bsz, seq_len, heads, self.head_dim).transpose(1, 2).contiguous()


@FIX.adds(*((f"{owner}._split_heads", releases) for owner, releases in (GPT, NEOX)))
def split_heads(
    self: Any, tensor: torch.Tensor, num_heads: int = 0, attn_head_size: int = 0, **names: int
) -> torch.Tensor:
    """Give the heads a dimension: (texts, tokens, width) becomes (texts, heads, tokens, width of a head), a view.

    Args:
        self: the attention.
        tensor: projected states.
        num_heads: the number of heads, which GPT-NeoX calls ``num_attention_heads``.
        attn_head_size: the width of each.
        names: ``num_attention_heads``.
    """
    heads = names.get("num_attention_heads", num_heads)
    return tensor.view(*tensor.shape[:-1], heads, attn_head_size).permute(0, 2, 1, 3)


@FIX.adds(*((f"{owner}._merge_heads", releases) for owner, releases in (GPT, NEOX, J, CODEGEN)))
def merge_heads(
    self: Any, tensor: torch.Tensor, num_heads: int = 0, attn_head_size: int = 0, **names: int
) -> torch.Tensor:
    """Join the heads: (texts, heads, tokens, width of a head) becomes (texts, tokens, width).

    Args:
        self: the attention.
        tensor: the output of the heads.
        num_heads: the number of heads, which GPT-NeoX and GPT-J call ``num_attention_heads``.
        attn_head_size: the width of each.
        names: ``num_attention_heads``.
    """
    heads = names.get("num_attention_heads", num_heads)
    joined = tensor.transpose(-3, -2).contiguous()
    return joined.view(*joined.shape[:-2], heads * attn_head_size)


@FIX.adds((f"{J[0]}._split_heads", J[1]))
def split_heads_of_gptj(
    self: Any, tensor: torch.Tensor, num_attention_heads: int, attn_head_size: int, rotary: bool
) -> torch.Tensor:
    """Give the heads a dimension; before the tokens, except if they are to be rotated.

    Args:
        self: the attention.
        tensor: projected states (texts, tokens, width).
        num_attention_heads: the number of heads.
        attn_head_size: the width of each.
        rotary: whether the tokens stay before the heads.
    """
    heads = tensor.view(*tensor.shape[:-1], num_attention_heads, attn_head_size)
    return heads if rotary else heads.transpose(-3, -2)
