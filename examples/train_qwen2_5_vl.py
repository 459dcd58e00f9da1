"""A few training steps and an evaluation of a tiny Qwen2.5-VL on a photograph, in bfloat16 with FlashAttention-2.

A typical fine-tuning script, as small as possible. On transformers 4.49.0 with flash-attn 2.7.4 it dies in the
first step; with `import hotfix.auto` as its first line it trains.
"""

import torch
from PIL import Image
from skimage import data
from transformers import Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration, Qwen2VLImageProcessor

IMAGE, START = 151, 150

torch.manual_seed(0)
config = Qwen2_5_VLConfig(
    vocab_size=160,
    hidden_size=64,
    intermediate_size=128,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    rope_scaling={"type": "mrope", "mrope_section": [2, 3, 3]},
    image_token_id=IMAGE,
    video_token_id=IMAGE + 1,
    vision_start_token_id=START,
    vision_config={
        "depth": 2,
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_heads": 4,
        "out_hidden_size": 64,
        "fullatt_block_indexes": [1],
    },
)
model = Qwen2_5_VLForConditionalGeneration._from_config(config, attn_implementation="flash_attention_2")
model.to(torch.bfloat16)

# The release's own image processor, which Qwen2.5-VL shares with Qwen2-VL, on a real photograph.
processor = Qwen2VLImageProcessor(min_pixels=56 * 56, max_pixels=112 * 112)
photograph = processor(Image.fromarray(data.astronaut()), return_tensors="pt")
patches = photograph["image_grid_thw"].prod().item()
words = torch.randint(0, START, (1, 24))
input_ids = torch.cat([words[:, :4], torch.tensor([[START] + [IMAGE] * (patches // 4)]), words[:, 4:]], dim=1)
labels = input_ids.masked_fill(input_ids >= START, -100)
batch = {
    "input_ids": input_ids,
    "labels": labels,
    "attention_mask": torch.ones_like(input_ids),
    "pixel_values": photograph["pixel_values"].to(torch.bfloat16),
    "image_grid_thw": photograph["image_grid_thw"],
}
print(f"a photograph of {patches} patches, {input_ids.shape[1]} tokens", flush=True)

optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
model.train()
for step in range(4):
    loss = model(**batch).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(f"step {step}: loss {loss.item():.4f}", flush=True)

model.eval()
with torch.no_grad():
    print(f"evaluation: loss {model(**batch).loss.item():.4f}")
