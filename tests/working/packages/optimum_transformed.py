"""optimum: BetterTransformer and back, and the shapes and types that it makes up for an export."""

from common import begin, bert, tell, tell_folder, texts, tokenizer

begin()
import torch
from optimum.bettertransformer import BetterTransformer
from optimum.utils import DEFAULT_DUMMY_SHAPES, NormalizedConfigManager
from transformers import AutoModel

model = AutoModel.from_pretrained(bert("base")).eval()
batch = tokenizer()(texts(), padding=True, return_tensors="pt")
batch.pop("token_type_ids", None)
with torch.no_grad():
    tell("before", model(**batch).last_hidden_state)
    faster = BetterTransformer.transform(model, keep_original_model=True)
    tell("transformed", faster(**batch).last_hidden_state)
    model = BetterTransformer.reverse(faster)
    tell("back", model(**batch).last_hidden_state)
tell("shapes", DEFAULT_DUMMY_SHAPES)
config = NormalizedConfigManager.get_normalized_config_class("bert")(model.config)
tell("config", [config.hidden_size, config.num_layers, config.num_attention_heads])
model.save_pretrained("saved")
tell_folder("saved")
