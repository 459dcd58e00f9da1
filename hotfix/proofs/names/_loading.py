"""Models loaded with arguments of other releases."""

import tempfile
from pathlib import Path
from typing import Any

import torch

from hotfix.proofs.testbed import Target


def of_a_model(target: Target, **arguments: Any) -> dict[str, torch.Tensor]:
    """Logits of a small Llama (1, 6, vocabulary), and whether it is bfloat16.

    Args:
        target: ``from_pretrained``, ``_from_config``, ``pipeline``, or the call of one.
        arguments: of the call.
    """
    import transformers

    config = transformers.LlamaConfig(
        vocab_size=16, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2
    )
    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(config)
    if target.qualname.endswith("_from_config"):
        torch.manual_seed(0)
        model = transformers.AutoModelForCausalLM.from_config(config, **arguments)
    else:
        with tempfile.TemporaryDirectory() as folder:
            model.save_pretrained(folder)
            if target.qualname in ("pipeline", "Pipeline.__call__"):
                return _of_a_pipeline(folder, arguments)
            model = transformers.AutoModelForCausalLM.from_pretrained(folder, **arguments)
    with torch.no_grad():
        logits = model(torch.arange(6)[None]).logits
    return {"logits": logits.float(), "dtype": torch.tensor(model.dtype == torch.bfloat16)}


def _of_a_pipeline(folder: str, arguments: dict[str, Any]) -> dict[str, torch.Tensor]:
    import transformers

    config = transformers.BertConfig(
        vocab_size=5, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2
    )
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    Path(folder, "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n")
    tokenizer = transformers.BertTokenizerFast(str(Path(folder, "vocab.txt")))
    made = transformers.pipeline("text-classification", model=folder, tokenizer=tokenizer, **arguments)
    made("[MASK]")
    dtype = made.model.dtype
    with torch.no_grad():
        logits = made.model.float()(torch.arange(5)[None]).logits  # attentions differ in how they round bfloat16
    return {"logits": logits, "dtype": torch.tensor(dtype == torch.bfloat16)}
