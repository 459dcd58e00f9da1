"""The proof: what the pipeline makes of a text for a small VITS."""

import json
import tempfile
from pathlib import Path

import torch

from hotfix.processing.text_to_audio_dtype_of_tokens import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="TypeError: BatchEncoding.to.. got an unexpected keyword argument 'dtype'")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The inputs of the model, and the sound of a text."""
    from transformers import VitsConfig, VitsModel, VitsTokenizer, pipeline

    letters = Path(tempfile.mkdtemp()) / "vocab.json"
    letters.write_text(json.dumps({letter: at for at, letter in enumerate("_ abcdefghijklmnopqrstuvwxyz<>|?")}))
    tokenizer = VitsTokenizer(str(letters), pad_token="_", unk_token="?", normalize=True, phonemize=False)
    config = VitsConfig(
        vocab_size=32,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        ffn_dim=16,
        flow_size=16,
        spectrogram_bins=9,
        upsample_initial_channel=16,
        upsample_rates=[2, 2],
        upsample_kernel_sizes=[4, 4],
        resblock_kernel_sizes=[3],
        resblock_dilation_sizes=[[1, 3, 5]],
        wavenet_dilation_rate=1,
        depth_separable_num_layers=1,
        duration_predictor_num_flows=1,
        duration_predictor_flow_bins=4,
        prior_encoder_num_flows=1,
        prior_encoder_num_wavenet_layers=1,
        posterior_encoder_num_wavenet_layers=1,
        noise_scale=0.0,
        noise_scale_duration=0.0,
    )
    model = testbed.fill(VitsModel(config)).eval()
    speaks = pipeline("text-to-audio", model=model, tokenizer=tokenizer)
    inputs = speaks.preprocess("the quick fox")
    sound = speaks("the quick fox")["audio"]
    return {"tokens": inputs["input_ids"], "mask": inputs["attention_mask"], "sound": torch.as_tensor(sound)}
