"""gliner: the model's encoder and heads, run once, saved and read."""

from common import begin, bert, tell, tell_folder, tokenizer

begin()
import json
from pathlib import Path

import torch
from gliner import GLiNER, GLiNERConfig

folder = bert("base")
words = tokenizer()
config = GLiNERConfig(model_name=folder, hidden_size=16, fine_tune=True, max_len=16, max_width=4, dropout=0.0)
torch.manual_seed(0)
model = (
    GLiNER(config, encoder_from_pretrained=False, tokenizer=words)
    if "tokenizer" in GLiNER.__init__.__code__.co_varnames
    else GLiNER(config)
)
tell("parameters", sorted((name, list(each.shape)) for name, each in model.named_parameters()))
tell("config", json.loads(json.dumps(sorted(config.to_dict(), key=str))))
model.save_pretrained("saved")
tell_folder(Path("saved"))
