"""The proof: a checkpoint in bfloat16 is read without a word on its dtype, and with one."""

import torch

from hotfix.names.v5_default_dtype_auto import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import llama


@FIX.case(packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Embeddings of a text, in the dtype that comes of it."""
    import tempfile

    model = llama(testbed, attn="sdpa", dtype=torch.bfloat16)
    ids = testbed.randint(3, 60, 1, 5, seed=4)
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        for name, said in {"nothing": {}, "auto": {"torch_dtype": "auto"}, "half": {"torch_dtype": torch.half}}.items():
            again = type(model).from_pretrained(folder, attn_implementation="sdpa", **said).eval()
            results[name] = again.get_input_embeddings()(ids)
            # Numbers are compared without their dtype, and embeddings are the same in each that holds them.
            results[f"{name} bits"] = torch.tensor(torch.finfo(results[name].dtype).bits)
    return results
