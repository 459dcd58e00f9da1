"""diffusers: a pipeline whose text encoder comes from transformers, saved, read and run."""

from common import begin, tell, tell_folder, tell_model, tokenizer

begin()
import torch
from diffusers import AutoencoderKL, DDIMScheduler, StableDiffusionPipeline, UNet2DConditionModel
from transformers import CLIPTextConfig, CLIPTextModel

torch.manual_seed(0)
unet = UNet2DConditionModel(
    block_out_channels=(8, 8), layers_per_block=1, sample_size=8, in_channels=4, out_channels=4, norm_num_groups=4,
    down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"), up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
    cross_attention_dim=16, attention_head_dim=2,
)  # fmt: skip
vae = AutoencoderKL(block_out_channels=[8], norm_num_groups=4, latent_channels=4, sample_size=8)
text = CLIPTextModel(
    CLIPTextConfig(
        vocab_size=40, hidden_size=16, intermediate_size=16, num_hidden_layers=2, num_attention_heads=2,
        max_position_embeddings=32, bos_token_id=1, eos_token_id=2, pad_token_id=0,
    )
)  # fmt: skip
words = tokenizer()
scheduler = DDIMScheduler(clip_sample=False, set_alpha_to_one=False)
pipe = StableDiffusionPipeline(
    vae=vae, text_encoder=text, tokenizer=words, unet=unet, scheduler=scheduler, safety_checker=None,
    feature_extractor=None, requires_safety_checker=False,
)  # fmt: skip
pipe.set_progress_bar_config(disable=True)
image = pipe("a b c", num_inference_steps=2, output_type="np", generator=torch.manual_seed(0), height=8, width=8).images
tell("image", image)
tell_model(text)
pipe.text_encoder.save_pretrained("text")
tell_folder("text")
tell_model(CLIPTextModel.from_pretrained("text"))
