"""Programs with a custom step, schedule, loss or model part, which are correct in stock."""

from __future__ import annotations

import tempfile
from types import SimpleNamespace

from hotfix.proofs.training._writers import writer
from hotfix.proofs.zoo import class_of, small_llama, texts
from tests.working.training.programs import cross_entropy, step

_SETTINGS = {"report_to": [], "save_strategy": "no", "disable_tqdm": True, "use_cpu": True, "max_grad_norm": 0.0}


def training_step_by_the_number(testbed, target):
    """A ``training_step`` with its own loss, on labels that the data has already shifted."""
    import torch

    def make(base):
        class Own(base):
            def training_step(self, model, inputs, num_items_in_batch=None):
                model.train()
                labels = inputs.pop("labels")
                logits = model(**inputs).logits
                loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum")
                loss = loss / num_items_in_batch
                self.accelerator.backward(loss)
                return loss.detach()

        return Own

    ids = testbed.randint(0, 32, 4, 7, seed=1).cpu()
    samples = [{"input_ids": id[:-1], "labels": id[1:]} for id in ids]
    return dict(step(small_llama(testbed), samples, make=make, gradient_accumulation_steps=4))


def a_schedule_of_its_own(testbed, target):
    """OneCycleLR with the release's number of steps raises an error at the next step."""
    import torch
    from transformers import Trainer, TrainingArguments

    results = {}
    for chained in (False, True):
        model = small_llama(testbed)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=2)
        if chained:
            schedule = torch.optim.lr_scheduler.SequentialLR(optimizer, [schedule], [])
        with tempfile.TemporaryDirectory() as folder:
            sizes = {"per_device_train_batch_size": 1, "gradient_accumulation_steps": 3, "num_train_epochs": 2}
            trainer = Trainer(
                model=model,
                args=TrainingArguments(folder, **sizes, **_SETTINGS),
                train_dataset=texts(testbed, (1, 1, 1, 1)),
                optimizers=(optimizer, schedule),
            )
            results[f"{chained}: steps"] = torch.tensor(trainer.train().global_step)
        results.update({f"{chained}: {name}": value.detach() for name, value in model.named_parameters()})
    return results


def a_loss_without_the_first_label(testbed, target):
    """The first label of each text, its language, is fixed: it is not scored, and the release does not count it."""
    import torch
    from transformers import BartConfig, BartForConditionalGeneration

    def function(outputs, labels, num_items_in_batch=None):
        logits, labels = outputs["logits"][:, 1:].flatten(0, 1), labels[:, 1:].flatten()
        return torch.nn.functional.cross_entropy(logits, labels, reduction="sum") / num_items_in_batch

    width = {"d_model": 16, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16, "vocab_size": 32}
    depth = {"encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2, "decoder_attention_heads": 2}
    config = BartConfig(**width, **depth, pad_token_id=0, decoder_start_token_id=2, max_position_embeddings=32)
    ids = testbed.randint(3, 32, 4, 6, seed=1).cpu()
    samples = [{"input_ids": id, "labels": id} for id in ids]
    model = testbed.fill(BartForConditionalGeneration(config))
    return dict(step(model, samples, function=function, gradient_accumulation_steps=4))


def a_loss_that_takes_no_shifted_labels(testbed, target):
    """The model has a custom loss; the batch has a column that the release does not pass on."""
    import torch
    from transformers import Qwen3VLConfig, Qwen3VLForConditionalGeneration

    width = {"hidden_size": 16, "intermediate_size": 16}
    heads = {"num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 8}
    rope = {"rope_type": "default", "mrope_section": [2, 1, 1]}
    tower = {"depth": 1, "num_heads": 2, "out_hidden_size": 16, "deepstack_visual_indexes": [0]}
    special = {"image_token_id": 60, "video_token_id": 61, "vision_start_token_id": 62, "vision_end_token_id": 63}
    config = Qwen3VLConfig(
        text_config={**width, **heads, "vocab_size": 64, "rope_scaling": rope},
        vision_config={**width, **tower},
        **special,
    )
    model = testbed.fill(Qwen3VLForConditionalGeneration(config))
    model.loss_function = lambda logits, labels, vocab_size: cross_entropy({"logits": logits}, labels)
    ids = testbed.randint(0, 30, 2, 6, seed=1).cpu()
    shifted = torch.nn.functional.pad(ids[:, 1:], (0, 1), value=-100)
    return {"loss": model(input_ids=ids, labels=ids, shift_labels=shifted).loss}


def parts_that_embed_pixels(testbed, target):
    """A part whose ``get_input_embeddings`` takes an argument, and one that refuses."""
    import torch
    from transformers import PretrainedConfig, PreTrainedModel

    class Tower(PreTrainedModel):
        config_class = PretrainedConfig

        def __init__(self, config):
            super().__init__(config)
            self.block = torch.nn.Linear(4, 4)

        def get_input_embeddings(self, pixels):
            return self.block(pixels)

    class Refusing(Tower):
        def get_input_embeddings(self):
            raise ValueError("this part takes pixels")

    class Whole(PreTrainedModel):
        config_class = PretrainedConfig

        def __init__(self, config):
            super().__init__(config)
            self.words, self.towers = torch.nn.Embedding(8, 4), torch.nn.ModuleList([Tower(config), Refusing(config)])

        def get_input_embeddings(self):
            return self.words

    model = Whole(PretrainedConfig())
    model.enable_input_require_grads()
    return {"wants a gradient": torch.tensor(model.words(torch.zeros(1, dtype=torch.long)).requires_grad)}


def a_writer_that_reads_embeddings(testbed, target):
    """The decoder receives the embeddings of its label tokens: the loss must shift the labels."""
    place = SimpleNamespace(
        module="transformers.models.vision_encoder_decoder.modeling_vision_encoder_decoder",
        qualname="VisionEncoderDecoderModel.forward",
    )
    model, inputs = writer(testbed, class_of(place))
    ids = inputs.pop("labels").abs() % 40
    embeddings = model.decoder.get_input_embeddings()(ids)
    outputs = model(**inputs, decoder_inputs_embeds=embeddings, labels=ids)
    return {"loss": outputs.loss, "of the next token": cross_entropy({"logits": outputs.logits}, ids)}
