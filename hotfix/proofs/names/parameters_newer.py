"""The proof: overrides as they were written for an older release."""

import tempfile
from typing import Any, ClassVar

import torch

from hotfix.names.parameters_newer import FIX
from hotfix.proofs.names._training import PACKAGES, loss_of_a_step
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import small_llama, texts

# Every release passes ``gradient_checkpointing_kwargs``, so there is no oracle: the case compares with an override that
# takes them. For `pad`, 4.57.6 has the same bug elsewhere.
_ORACLES = {
    "transformers.trainer:Trainer._inner_training_loop": "",
    "transformers.trainer:Trainer.train": "",
    "transformers.tokenization_python:PythonBackend._encode_plus": "4.44.2",
    "transformers.tokenization_python:PythonBackend.prepare_for_model": "4.44.2",
}


@FIX.case(
    raises="TypeError: .*(unexpected keyword argument|positional arguments? but|from \\d to \\d positional)",
    packages=PACKAGES,
    oracles=_ORACLES,
    with_fixes=("accelerator-dispatch-batches",),
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """One override for each method that a function of the library calls."""
    return _CASES[target.qualname](testbed, target)


def _collator(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    from transformers import DataCollatorForLanguageModeling

    class Own(DataCollatorForLanguageModeling):
        def torch_mask_tokens(self, inputs: Any, special_tokens_mask: Any = None) -> Any:
            return inputs, -inputs

        def numpy_mask_tokens(self, inputs: Any, special_tokens_mask: Any = None) -> Any:
            return inputs, -inputs

    collate = getattr(Own(_fast_tokenizer(), pad_to_multiple_of=4), target.qualname.rpartition(".")[2])
    batch = collate([{"input_ids": [2, 3]}, {"input_ids": [3, 2, 2]}])
    return {name: torch.as_tensor(batch[name]) for name in ("input_ids", "labels")}


def _resized(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    from transformers import LlamaForCausalLM

    class Own(LlamaForCausalLM):
        def _resize_token_embeddings(self, new_num_tokens: Any, pad_to_multiple_of: Any = None) -> Any:
            return super()._resize_token_embeddings(new_num_tokens, pad_to_multiple_of)

    return _with_more_rows(testbed, Own)


def _resized_parts(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    from transformers import LlamaForCausalLM

    class Own(LlamaForCausalLM):
        def _get_resized_embeddings(
            self, old_embeddings: Any, new_num_tokens: Any = None, pad_to_multiple_of: Any = None
        ) -> Any:
            return super()._get_resized_embeddings(old_embeddings, new_num_tokens, pad_to_multiple_of)

        def _get_resized_lm_head(self, old_lm_head: Any, new_num_tokens: Any = None, transposed: bool = False) -> Any:
            return super()._get_resized_lm_head(old_lm_head, new_num_tokens, transposed)

    return _with_more_rows(testbed, Own)


def _with_more_rows(testbed: Testbed, cls: Any) -> dict[str, torch.Tensor]:
    config = small_llama(testbed).config
    config.tie_word_embeddings = False
    model = testbed.fill(cls(config))
    rows = config.vocab_size
    head = model.lm_head.weight.detach().clone()
    model.resize_token_embeddings(rows + 6)
    return {
        "embeddings": model.model.embed_tokens.weight.detach()[:rows],
        "head": torch.tensor([torch.equal(model.lm_head.weight[:rows], head), len(model.lm_head.weight) == rows + 6]),
    }


def _checkpointed(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    from transformers import LlamaForCausalLM
    from transformers.modeling_utils import checkpoint

    class Own(LlamaForCausalLM):
        def _set_gradient_checkpointing(
            self, enable: bool = True, gradient_checkpointing_func: Any = checkpoint
        ) -> None:
            super()._set_gradient_checkpointing(enable, gradient_checkpointing_func)

    model: Any = Own(small_llama(testbed).config)
    getattr(model, "activation_checkpointing_enable", model.gradient_checkpointing_enable)()
    return {"checkpointed": torch.tensor(model.is_gradient_checkpointing)}


def _enabled(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    from transformers import LlamaForCausalLM

    class Own(LlamaForCausalLM):
        def gradient_checkpointing_enable(self, gradient_checkpointing_kwargs: Any = None) -> None:
            super().gradient_checkpointing_enable(gradient_checkpointing_kwargs)

    model: Any = Own(small_llama(testbed).config)
    getattr(model, "activation_checkpointing_enable", model.gradient_checkpointing_enable)()
    return {"checkpointed": torch.tensor(model.is_gradient_checkpointing)}


def _trained(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    from transformers import LlamaForCausalLM

    class Old(LlamaForCausalLM):
        def gradient_checkpointing_enable(self) -> None:
            super().gradient_checkpointing_enable()

    class New(LlamaForCausalLM):
        def gradient_checkpointing_enable(self, gradient_checkpointing_kwargs: Any = None, **kwargs: Any) -> None:
            super().gradient_checkpointing_enable()

    config = small_llama(testbed).config
    losses, enabled = [], []
    for cls in (Old, New):
        model = testbed.fill(cls(config))
        losses.append(loss_of_a_step(model, texts(testbed), gradient_checkpointing=True))
        enabled.append(model.is_gradient_checkpointing)
    return {"same": torch.equal(*losses) * torch.ones(1), "checkpointed": torch.tensor(enabled)}


def _processor(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    from transformers import PreTrainedTokenizerFast, ProcessorMixin

    class Own(ProcessorMixin):
        attributes: ClassVar = ["tokenizer"]
        tokenizer_class = "PreTrainedTokenizerFast"

        def __init__(self, tokenizer: Any = None, **kwargs: Any) -> None:
            super().__init__(tokenizer)

        @classmethod
        def _get_arguments_from_pretrained(cls, pretrained_model_name_or_path: Any, **kwargs: Any) -> list[Any]:
            return [PreTrainedTokenizerFast.from_pretrained(pretrained_model_name_or_path)]

    with tempfile.TemporaryDirectory() as folder:
        _fast_tokenizer().save_pretrained(folder)
        processor = Own.from_pretrained(folder)
    return {"ids": torch.tensor(processor.tokenizer("a b")["input_ids"])}


def _padded(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    from transformers import PreTrainedTokenizer

    class Padding:
        def pad(
            self,
            encoded_inputs: Any,
            padding: Any = True,
            max_length: Any = None,
            pad_to_multiple_of: Any = None,
            return_attention_mask: Any = None,
            return_tensors: Any = None,
            verbose: bool = True,
        ) -> Any:
            padded: Any = super()
            return padded.pad(
                encoded_inputs,
                padding=padding,
                max_length=max_length,
                pad_to_multiple_of=pad_to_multiple_of,
                return_attention_mask=return_attention_mask,
                return_tensors=return_tensors,
                verbose=verbose,
            )

    class Slow(Padding, PreTrainedTokenizer):
        words: ClassVar = ["[PAD]", "[UNK]", "a", "b"]

        @property
        def vocab_size(self) -> int:
            return len(self.words)

        def get_vocab(self) -> dict[str, int]:
            return {word: number for number, word in enumerate(self.words)}

        def _tokenize(self, text: str, **kwargs: Any) -> list[str]:
            return text.split()

        def _convert_token_to_id(self, token: str) -> int:
            return self.get_vocab().get(token, 1)

        def _convert_id_to_token(self, index: int) -> str:
            return self.words[index]

        def build_inputs_with_special_tokens(self, token_ids_0: Any, token_ids_1: Any = None) -> Any:
            return token_ids_0  # 5.0.0 adds tokens that this tokenizer does not have

    tokenizer: Any = Slow(pad_token="[PAD]", unk_token="[UNK]")
    many = tokenizer(["a b a", "b"], padding=True, return_tensors="pt")
    value = tokenizer("a b", padding="max_length", max_length=4, return_tensors="pt")
    ids = tokenizer.prepare_for_model([2, 3], padding="max_length", max_length=4)["input_ids"]
    return {
        "many": many["input_ids"],
        "mask": many["attention_mask"],
        "one": value["input_ids"],
        "ids": torch.tensor(ids),
    }


def _fast_tokenizer() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.WordLevel({"[PAD]": 0, "[UNK]": 1, "a": 2, "b": 3, "[MASK]": 4}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=made, pad_token="[PAD]", unk_token="[UNK]", mask_token="[MASK]")


_BASE = "PreTrainedTokenizerBase"
_CASES = {
    "DataCollatorForLanguageModeling.numpy_call": _collator,
    "DataCollatorForLanguageModeling.torch_call": _collator,
    "PreTrainedModel.resize_token_embeddings": _resized,
    "PreTrainedModel._resize_token_embeddings": _resized_parts,
    "PreTrainedModel.gradient_checkpointing_enable": _checkpointed,
    "PreTrainedModel._activation_checkpointing_enable": _checkpointed,
    "PreTrainedModel.activation_checkpointing_enable": _enabled,
    "Trainer._inner_training_loop": _trained,
    "Trainer.train": _trained,
    "ProcessorMixin.from_pretrained": _processor,
    "PreTrainedTokenizer._batch_prepare_for_model": _padded,
    f"{_BASE}.prepare_for_model": _padded,
    "PythonBackend._encode_plus": _padded,
    "PythonBackend.prepare_for_model": _padded,
}
