"""A fresh interpreter in which torchcodec cannot be imported classifies an array of audio."""

import torch

from hotfix.loading.torchcodec_cannot_be_imported import FIX
from hotfix.proofs.loading import _interpreter
from hotfix.proofs.testbed import Target, Testbed

BROKEN = 'raise RuntimeError("Could not load libtorchcodec. Likely causes: FFmpeg is not properly installed.")'
USER = """
import json, numpy, torch
from transformers import Wav2Vec2Config, Wav2Vec2FeatureExtractor, Wav2Vec2ForSequenceClassification, pipeline
sizes = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, num_labels=3)
layers = dict(conv_dim=(8, 8), conv_stride=(5, 2), conv_kernel=(10, 3), num_feat_extract_layers=2)
positions = dict(num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=2)
model = Wav2Vec2ForSequenceClassification(Wav2Vec2Config(**sizes, **layers, **positions)).eval()
for number, one in enumerate(model.parameters()):
    one.data = torch.linspace(-0.3, 0.3 + number / 100, one.numel()).reshape(one.shape)
classify = pipeline("audio-classification", model=model, feature_extractor=Wav2Vec2FeatureExtractor(), device="cpu")
answers = classify(numpy.sin(numpy.arange(4000, dtype=numpy.float32) / 9))
print(json.dumps({answer["label"]: answer["score"] for answer in answers}))
"""


@FIX.case(
    raises="libtorchcodec",
    packages={"flash-attn": None, "torchcodec": "0.7.0"},
    oracles={"*": "4.53.3"},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The score of each label."""
    return _interpreter.results(USER, "torchcodec", BROKEN)
