"""The proof: a small model is pushed in words of 4.57, to a stand-in for the Hub."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import torch

from hotfix.names.push_to_hub_arguments_removed import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import small_llama


@FIX.case(raises="TypeError: .*unexpected keyword argument", oracles={"*": "4.57.6"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The weights that arrive, how many files there are, and the token."""
    from safetensors.torch import load
    from transformers.utils import hub

    model = small_llama(testbed)
    arrived: dict[str, torch.Tensor] = {}

    def upload(folder: str, repo_id: str, *others: Any, token: str, **more: Any) -> None:
        files = {path.name: path.read_bytes() for path in Path(folder).iterdir()}
        arrived.update(load(files["model.safetensors"]))
        arrived[f"{token}: {', '.join(sorted(files))}"] = torch.tensor(len(files))

    card = SimpleNamespace(save=lambda path: Path(path).write_text("card"))
    made = SimpleNamespace(repo_id="mine/model")
    api = SimpleNamespace(create_repo=lambda *args, **kwargs: made)
    with mock.patch.multiple(
        hub,
        create=True,  # later releases ask an object, earlier ones a function
        create_repo=api.create_repo,
        hf_api=lambda: api,
        create_and_tag_model_card=lambda *args, **kwargs: card,
    ):
        model._upload_modified_files = upload
        model.push_to_hub("mine/model", use_temp_dir=True, use_auth_token="mine", safe_serialization=True)
    return arrived
