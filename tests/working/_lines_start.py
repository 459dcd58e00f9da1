"""What the lines in ``lines_of_4.txt``, ``lines_of_5.txt`` and ``overrides.txt`` use, and the loop that runs them."""

import os
import re
import shutil
import tempfile
import warnings

import torch
import transformers
from PIL import Image

__all__ = ["Image"]

D = tempfile.mkdtemp()
with open(os.path.join(D, "vocab.txt"), "w") as file:
    file.write("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "hello", "world", "."]))
tok = transformers.BertTokenizerFast(os.path.join(D, "vocab.txt"))
ids = torch.ones(1, 3, dtype=torch.long)
SMALL = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
SPECIAL = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
PICTURE = {**SMALL, "image_size": 8, "patch_size": 4}
LAYERS = {"encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16}
LAYERS.update(encoder_attention_heads=2, decoder_attention_heads=2, decoder_start_token_id=2)


def small_llama():
    return transformers.LlamaForCausalLM(llama_config).eval()


def small_bert(kind):
    return getattr(transformers, f"Bert{kind}")(bert_config).eval()


def small_bart():
    config = transformers.BartConfig(vocab_size=8, d_model=16, **LAYERS, **SPECIAL)
    return transformers.BartForConditionalGeneration(config)


def small_t5():
    sizes = {"d_model": 8, "d_ff": 8, "num_layers": 1, "num_heads": 2, "d_kv": 4, "decoder_start_token_id": 0}
    return transformers.T5ForConditionalGeneration(transformers.T5Config(vocab_size=16, **sizes)).eval()


def small_gpt2():
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=16, n_embd=8, n_layer=1, n_head=2)).eval()


def small_vit():
    return transformers.ViTModel(transformers.ViTConfig(**PICTURE)).eval()


def small_clip():
    text = {**SMALL, "vocab_size": 64, "eos_token_id": 2}
    return transformers.CLIPModel(transformers.CLIPConfig(text_config=text, vision_config=PICTURE, projection_dim=8))


def small_clip_text():
    return transformers.CLIPTextModel(transformers.CLIPTextConfig(vocab_size=64, eos_token_id=2, **SMALL))


def small_clip_vision():
    return transformers.CLIPVisionModel(transformers.CLIPVisionConfig(**PICTURE))


def small_whisper():
    sizes = {"vocab_size": 64, "d_model": 16, "num_mel_bins": 8, "max_source_positions": 20, "max_target_positions": 16}
    config = transformers.WhisperConfig(suppress_tokens=[], begin_suppress_tokens=[], **sizes, **LAYERS, **SPECIAL)
    return transformers.WhisperForConditionalGeneration(config)


DATA = [{"input_ids": torch.tensor([5, 6, 7]), "labels": torch.tensor([5, 6, 7])}] * 4


def small_trainer(kind=transformers.Trainer, callbacks=None, compute_loss_func=None, processing_class=None, **given):
    model, eval_dataset = given.pop("model", None) or small_llama(), given.pop("eval_dataset", None)
    settings = {"output_dir": D + "/out", "use_cpu": True, "report_to": [], "disable_tqdm": True, **given}
    own = {"callbacks": callbacks, "compute_loss_func": compute_loss_func, "processing_class": processing_class}
    own = {name: value for name, value in own.items() if value is not None}
    arguments = transformers.TrainingArguments(**settings)
    return kind(model, arguments, train_dataset=DATA, eval_dataset=eval_dataset, **own)


def trained(kind, **settings):
    """Steps, loss, the keys that it logged, and files."""
    folder = settings.setdefault("output_dir", D + "/out")
    shutil.rmtree(folder, ignore_errors=True)
    settings = {"per_device_train_batch_size": 2, "num_train_epochs": 2, "save_strategy": "no", **settings}
    trainer = small_trainer(kind, **settings)
    done = trainer.train()
    keys = sorted({key for logs in trainer.state.log_history for key in logs} & {"mine", "loss", "epoch", "step"})
    written = os.listdir(folder) if os.path.isdir(folder) else []
    files = sorted(name for name in written if name.startswith("checkpoint"))
    own = sorted(name for name in ("steps", "seen") if hasattr(trainer, name))
    return done.global_step, round(done.training_loss, 3), keys, files, own


def evaluated(kind):
    trainer = small_trainer(kind, per_device_eval_batch_size=2)
    metrics = trainer.evaluate(DATA)
    return sorted(metrics.keys() & {"eval_loss", "mine"}), round(metrics["eval_loss"], 3)


def written(kind, **settings):
    """The tokens that a model writes."""
    model = kind(llama_config).eval()
    with torch.no_grad():
        for number, parameter in enumerate(model.parameters()):
            torch.manual_seed(number)
            parameter.copy_(torch.randn(parameter.shape))
    start = torch.tensor([[5, 6, 7, 8]])
    return model.generate(start, max_new_tokens=4, do_sample=False, **settings).tolist()


def loaded(kind):
    """Whether a model is loaded as it was saved, and which attention it has."""
    kind(llama_config).save_pretrained(D + "/kind")
    model = kind.from_pretrained(D + "/kind")
    tied = model.lm_head.weight is model.model.embed_tokens.weight
    return model.config._attn_implementation, tied


def resized(kind):
    model = kind(llama_config)
    model.resize_token_embeddings(70)
    return model.lm_head.weight.shape, getattr(model, "mine", None)


def main(cases):
    global llama_config, bert_config
    for case in cases:
        sizes = {"vocab_size": 64, "num_key_value_heads": 2, **SPECIAL}
        llama_config = transformers.LlamaConfig(**{**SMALL, "num_hidden_layers": 2}, **sizes)
        bert_config = transformers.BertConfig(vocab_size=8, **SMALL)
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        try:
            result = case()
            print("runs", case.__name__, re.sub(r"0x[0-9a-f]+|/tmp/\w+|\s+", " ", repr(result))[:300])
        except Exception as error:
            print("ends", case.__name__, type(error).__name__, str(error).replace("\n", " ")[:150])
        except SystemExit:  # of a parser
            print("ends", case.__name__, "SystemExit")
