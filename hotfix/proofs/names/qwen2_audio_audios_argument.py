"""A sentence with a sound, passed by the old name of the argument."""

from importlib import import_module

import torch

from hotfix.names.qwen2_audio_audios_argument import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(oracles={"*": "4.54.1"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """What the processor makes of both."""
    tokenizers, transformers = import_module("tokenizers"), import_module("transformers")
    words = ["<unk>", "hear", "this", "<|AUDIO|>", "<|audio_bos|>", "<|audio_eos|>"]
    plain = tokenizers.Tokenizer(tokenizers.models.WordLevel({word: n for n, word in enumerate(words)}, "<unk>"))
    plain.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=plain, unk_token="<unk>", pad_token="<unk>")
    tokenizer.add_special_tokens({"additional_special_tokens": words[3:]})
    processor = transformers.Qwen2AudioProcessor(
        transformers.WhisperFeatureExtractor(feature_size=8, n_fft=64, hop_length=160, chunk_length=1), tokenizer
    )
    sound = testbed.randn(4000).cpu().numpy()
    batch = processor(text="hear this <|AUDIO|>", audios=[sound], sampling_rate=16000, return_tensors="pt")
    features = batch.get("input_features", torch.zeros(0))
    return {"ids": batch["input_ids"], "features": torch.as_tensor(features)}
