import torch
def qwen2(bed, target):
    from transformers import Qwen2Config, Qwen2ForCausalLM
    cfg = Qwen2Config(vocab_size=64, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2)
    ids = bed.randint(0, 64, 2, 9, seed=1)
    mask = torch.ones_like(ids); mask[0, :4] = 0
    out = {}
    for attn in ("flash_attention_2", "eager"):
        m = bed.model(Qwen2ForCausalLM, cfg, attn=attn)
        out[attn] = m(ids, attention_mask=mask).logits[mask.bool()]
    bed.assert_flash()
    return out
def llama(bed, target):
    from transformers import LlamaConfig, LlamaForCausalLM
    cfg = LlamaConfig(vocab_size=64, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2)
    ids = bed.randint(0, 64, 2, 9, seed=1)
    mask = torch.ones_like(ids); mask[0, :4] = 0
    out = {}
    for attn in ("flash_attention_2", "eager"):
        m = bed.model(LlamaForCausalLM, cfg, attn=attn)
        out[attn] = m(ids, attention_mask=mask).logits[mask.bool()]
    bed.assert_flash()
    return out
