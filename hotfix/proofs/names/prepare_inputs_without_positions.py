"""The proof: a method that is put in the library's place, and an override."""

from typing import Any

import torch

from hotfix.names.prepare_inputs_without_positions import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(
    raises="TypeError: .* got an unexpected keyword argument 'cache_position'",
    packages={"flash-attn": None},
    oracles={"transformers.generation.utils:GenerationMixin.generate": "4.38.2"},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Tokens that are generated."""
    from transformers import GPT2Config, GPT2LMHeadModel, MBartConfig, MBartForCausalLM
    from transformers.modeling_outputs import BaseModelOutput

    sizes: dict[str, Any] = {"vocab_size": 20, "d_model": 16, "decoder_layers": 1, "decoder_ffn_dim": 16}
    config = MBartConfig(**sizes, decoder_attention_heads=2, add_cross_attention=True, is_decoder=True)
    config.is_encoder_decoder = False
    decoder: Any = testbed.fill(MBartForCausalLM(config)).eval()
    decoder.config.is_encoder_decoder = True
    lengths = []

    def prepare(input_ids: Any, encoder_outputs: Any, past_key_values: Any = None, use_cache: Any = None) -> Any:
        lengths.append(input_ids.shape[1])
        return {
            "input_ids": input_ids if past_key_values is None else input_ids[:, -1:],
            "past_key_values": past_key_values,
            "use_cache": use_cache,
            "encoder_hidden_states": encoder_outputs.last_hidden_state,
        }

    decoder.prepare_inputs_for_generation = prepare
    picture = BaseModelOutput(last_hidden_state=testbed.randn(2, 3, 16))
    ends = {"pad_token_id": 1, "eos_token_id": 2, "bos_token_id": 0, "decoder_start_token_id": 0}
    replaced = decoder.generate(encoder_outputs=picture, max_length=6, do_sample=False, **ends)
    is_kept = decoder.prepare_inputs_for_generation is prepare

    class Own(GPT2LMHeadModel):
        def prepare_inputs_for_generation(
            self, input_ids: Any, past_key_values: Any = None, attention_mask: Any = None, use_cache: Any = None
        ) -> dict[str, Any]:
            ids = input_ids if past_key_values is None else input_ids[:, -1:]
            return {"input_ids": ids, "past_key_values": past_key_values, "use_cache": use_cache}

    own: Any = testbed.fill(Own(GPT2Config(vocab_size=20, n_embd=16, n_layer=1, n_head=2, n_positions=32))).eval()
    ids = testbed.randint(3, 16, 2, 6)
    ends = {"pad_token_id": 1, "eos_token_id": 2, "max_new_tokens": 4}
    torch.manual_seed(1)
    return {
        "replaced": replaced,
        "steps": torch.tensor(lengths),
        "restored": torch.tensor([is_kept, "prepare_inputs_for_generation" not in vars(own)]),
        "drawn": own.generate(ids, do_sample=True, **ends),
        "beams": own.generate(ids, num_beams=2, do_sample=False, **ends),
    }
