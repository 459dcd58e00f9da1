"""The part that runs under one release for `tools.studies.reading`: writes small checkpoints, or reads them.

    python -m tools.studies.reading_child write FOLDER [FAMILY ...]  every family, or these, each in a folder of its own
    python -m tools.studies.reading_child read FOLDER OUTPUT         the checkpoints FOLDER/*/*, results as JSON

A checkpoint is a model, a tokenizer and, next to them, ``reference.pt``: the output of the release that wrote it,
after reading it back. `read` compares logits, ids and the text of a chat.
"""

from __future__ import annotations

import hashlib
import json
import sys
import traceback
import warnings
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

SMALL = {
    "vocab_size": 320,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 16,
}
MOE = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 48, "decoder_sparse_step": 1}
DEEPSEEK = {
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "n_group": 1,
    "topk_group": 1,
    "moe_intermediate_size": 48,
    "first_k_dense_replace": 1,
    "q_lora_rank": 32,
    "kv_lora_rank": 32,
    "qk_rope_head_dim": 16,
    "qk_nope_head_dim": 16,
    "v_head_dim": 16,
    "num_key_value_heads": 4,
}
LONG = {"type": "longrope", "short_factor": [1.0 + i / 8 for i in range(8)], "long_factor": [2.0] * 8}
QWEN_VISION = {
    "depth": 2,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_heads": 2,
    "out_hidden_size": 64,
    "fullatt_block_indexes": [1],
}
TOKENS = ["<unk>", "<s>", "</s>", "<|turn|>", "<image>"]
TEMPLATE = "{% for m in messages %}<|turn|>{{ m['role'] }}: {{ m['content'] }}</s>{% endfor %}"
TEXT = "A model <|turn|> that was saved once</s> is read ten times."
CHAT = [{"role": "user", "content": "Who reads it?"}, {"role": "assistant", "content": "All of us."}]


def plain(cls: str, model: str, **options: Any) -> Callable[[Any], Any]:
    """Makes a model of a configuration class and a model class, by name, with the small sizes."""

    def make(transformers: Any) -> Any:
        config = getattr(transformers, cls)(**{**SMALL, **options})
        return getattr(transformers, model)(config)

    return make


def qwen_vl(transformers: Any) -> Any:
    """Qwen2.5-VL: its text has its own configuration in later releases."""
    section = {"type": "mrope", "mrope_section": [2, 3, 3]}
    text = {**SMALL, "rope_theta": 5e5, "rope_scaling": section}
    ids = {"image_token_id": 4, "video_token_id": 5, "vision_start_token_id": 6, "vision_end_token_id": 7}
    config = transformers.Qwen2_5_VLConfig(text_config=text, vision_config=QWEN_VISION, **ids)
    return transformers.Qwen2_5_VLForConditionalGeneration(config)


def llava(transformers: Any) -> Any:
    """LLaVA: a Llama with another base, and a CLIP."""
    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 2}
    vision = transformers.CLIPVisionConfig(image_size=28, patch_size=14, **sizes)
    text = transformers.LlamaConfig(**SMALL, rope_theta=5e5)
    config = transformers.LlavaConfig(vision_config=vision, text_config=text, image_token_index=4, image_seq_length=4)
    return transformers.LlavaForConditionalGeneration(config)


def gemma3(transformers: Any) -> Any:
    """Gemma 3 with pictures: two sorts of attention in its text."""
    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 2}
    vision = {"image_size": 28, "patch_size": 14, **sizes}
    text: dict[str, Any] = {**SMALL, "head_dim": 16, "rope_theta": 5e5, "rope_local_base_freq": 2e4}
    text["rope_scaling"] = {"rope_type": "linear", "factor": 4.0}
    text.update(num_hidden_layers=6, sliding_window=8)
    config = transformers.Gemma3Config(text_config=text, vision_config=vision, mm_tokens_per_image=4)
    return transformers.Gemma3ForConditionalGeneration(config)


def whisper(transformers: Any) -> Any:
    """Whisper: no rotary embedding, a configuration for generation next to it."""
    sizes = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "vocab_size": 320, "num_mel_bins": 8}
    heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48}
    ids = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}
    lengths = {"max_source_positions": 24, "max_target_positions": 48}
    config = transformers.WhisperConfig(**sizes, **heads, **ids, **lengths)
    return transformers.WhisperForConditionalGeneration(config)


FAMILIES: dict[str, Callable[[Any], Any]] = {
    "Llama": plain("LlamaConfig", "LlamaForCausalLM", rope_theta=5e5),
    "Llama 3.1": plain("LlamaConfig", "LlamaForCausalLM", rope_theta=5e5, rope_scaling=LLAMA3),
    "Mistral": plain("MistralConfig", "MistralForCausalLM", rope_theta=1e6),
    "Qwen2": plain("Qwen2Config", "Qwen2ForCausalLM", rope_theta=1e6),
    "Qwen2-MoE": plain(
        "Qwen2MoeConfig", "Qwen2MoeForCausalLM", rope_theta=1e6, shared_expert_intermediate_size=48, **MOE
    ),
    "Qwen3": plain("Qwen3Config", "Qwen3ForCausalLM", rope_theta=1e6, head_dim=16),
    "Qwen3-MoE": plain("Qwen3MoeConfig", "Qwen3MoeForCausalLM", head_dim=16, **MOE),
    "Gemma 2": plain("Gemma2Config", "Gemma2ForCausalLM", rope_theta=5e5, head_dim=16, sliding_window=8),
    "Gemma 3": gemma3,
    "Phi-3 longrope": plain(
        "Phi3Config", "Phi3ForCausalLM", original_max_position_embeddings=64, rope_scaling=LONG, rope_theta=2e4
    ),
    "DeepSeek-V3": plain("DeepseekV3Config", "DeepseekV3ForCausalLM", rope_theta=5e5, **DEEPSEEK),
    "Mixtral": plain("MixtralConfig", "MixtralForCausalLM", rope_theta=5e5, num_local_experts=4),
    "Qwen2.5-VL": qwen_vl,
    "LLaVA": llava,
    "Whisper": whisper,
    "BERT": plain("BertConfig", "BertForMaskedLM"),
    "T5": plain("T5Config", "T5ForConditionalGeneration", d_model=64, d_kv=16, d_ff=96, num_layers=2, num_heads=4),
}


def tokenizer(transformers: Any) -> Any:
    """A byte-level tokenizer, trained on this file's words, with special tokens and a template."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE(unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=TOKENS[:3], initial_alphabet=alphabet)
    made.train_from_iterator([TEXT, *(message["content"] for message in CHAT)] * 4, trainer)
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, unk_token="<unk>", bos_token="<s>", eos_token="</s>", pad_token="<unk>"
    )
    # Of 5.x on the second name is gone.
    known = "additional_special_tokens" in getattr(fast, "SPECIAL_TOKENS_ATTRIBUTES", ())
    fast.add_special_tokens({"additional_special_tokens" if known else "extra_special_tokens": TOKENS[3:]})
    fast.add_tokens([AddedToken("saved once", normalized=False)])
    fast.chat_template = TEMPLATE
    return fast


def write(folder: Path, families: Collection[str] = ()) -> None:
    """Write every family, or some."""
    import transformers

    from hotfix.proofs.testbed import Testbed

    testbed = Testbed(device="cpu")
    for name, make in FAMILIES.items():
        if families and name not in families:
            continue
        at = folder / name
        at.mkdir(parents=True, exist_ok=True)
        testbed.fill(make(transformers)).save_pretrained(at, safe_serialization=True)
        tokenizer(transformers).save_pretrained(at)
        reference(at)


def reference(at: Path) -> None:
    """The output of the release that wrote a checkpoint, from it."""
    import torch

    torch.save({"logits": logits(at), "words": words(at)}, at / "reference.pt")


def logits(at: Path) -> Any:
    """The output of the model in a folder for fixed input, float32 of shape (1, tokens, vocabulary)."""
    import torch
    import transformers

    config = json.loads((at / "config.json").read_text())
    # Qwen2.5-VL of 4.57 writes it into the configuration of its text.
    [architecture] = config.get("architectures") or config["text_config"]["architectures"]
    model = getattr(transformers, architecture).from_pretrained(at, attn_implementation="eager").float().eval()
    ids = torch.arange(40)[None] * 7 % 250 + 40
    inputs = {"input_ids": ids}
    if architecture.startswith("Whisper"):
        inputs = {"input_features": torch.linspace(-1, 1, 8 * 48).reshape(1, 8, 48), "decoder_input_ids": ids}
    elif architecture.startswith("T5"):
        inputs["decoder_input_ids"] = ids[:, :9]
    lost = list(_lost(at, model))
    if lost:
        raise LookupError(f"{len(lost)} tensors of the file are nowhere in the model, {lost[0]} is one")
    if architecture.startswith("Llava"):
        ids[0, 1:5] = 4
        inputs["pixel_values"] = torch.linspace(-1, 1, 3 * 28 * 28).reshape(1, 3, 28, 28)
        if _release() < (4, 45):  # which puts the four patches in the place of one token itself
            inputs["input_ids"] = torch.cat((ids[:, :2], ids[:, 5:]), dim=1)
        inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
    with torch.no_grad():
        return model(**inputs).logits


def _lost(at: Path, model: Any) -> Iterator[str]:
    """Names of tensors in the files that are in no parameter; logits of a text do not depend on the part for pictures.

    In 5.x the experts of a layer are one parameter, so those of a file are not looked for.
    """
    from safetensors.torch import load_file

    fuses = _release() >= (5, 0)
    held = {_digest(tensor) for tensor in model.state_dict().values()}
    for path in at.glob("*.safetensors"):
        for name, tensor in load_file(path).items():
            if _digest(tensor) not in held and not (fuses and ".experts." in name):
                yield name


def _release() -> tuple[int, int]:
    import transformers

    major, minor = transformers.__version__.split(".")[:2]
    return int(major), int(minor)


def _digest(tensor: Any) -> str:
    return hashlib.sha256(tensor.detach().float().contiguous().numpy().tobytes()).hexdigest()


def words(at: Path) -> dict[str, Any]:
    """The tokens of a text and of a chat, from the tokenizer in a folder."""
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(at)
    ids = tokenizer(TEXT)["input_ids"]
    return {
        "ids": ids,
        "text": tokenizer.decode(ids, skip_special_tokens=True),
        "chat": tokenizer.apply_chat_template(CHAT, tokenize=False),
        "special": sorted(tokenizer.all_special_ids),
        "length": len(tokenizer),
    }


def read(folder: Path, output: Path) -> None:
    """Read every checkpoint below a folder and compare it with what its writer computed."""
    results = {}
    for at in sorted(folder.glob("*/*")):
        results[f"{at.parent.name}/{at.name}"] = dict(comparisons(at))
        output.write_text(json.dumps(results))  # the results so far, if the process is lost


def comparisons(at: Path) -> Iterator[tuple[str, str]]:
    """The model and the tokenizer of one checkpoint: ``equal``, ``near NUMBER``, ``differs …``, ``raises …``."""
    import torch

    wanted = torch.load(at / "reference.pt", weights_only=False)
    for part, run in (("model", logits), ("tokenizer", words)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                result = run(at)
            except Exception as error:
                last = traceback.extract_tb(error.__traceback__)[-1]
                yield part, f"raises {type(error).__name__}: {str(error).strip().splitlines()[0][:300]} ({last.name})"
                continue
        if part == "model":
            yield part, compared(result, wanted["logits"])
        else:
            other = [key for key, value in wanted["words"].items() if result[key] != value]
            yield part, f"differs in {', '.join(other)}" if other else "equal"


def compared(actual: Any, wanted: Any) -> str:
    """How near logits are to those of the writer."""
    if actual.shape != wanted.shape:
        return f"differs in shape: {tuple(actual.shape)}"
    off = float((actual - wanted).abs().max() / wanted.abs().max())
    return "equal" if off == 0 else f"near {off:.1e}" if off < 1e-5 else f"differs by {off:.1e}"


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(Path(sys.argv[2]), sys.argv[3:])
    else:
        read(Path(sys.argv[2]), Path(sys.argv[3]))
