"""Templates of a cached repository: offline, without an answer of the Hub, and with one."""

from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from hotfix.loading.list_repo_templates_connection_error import FIX
from hotfix.proofs.names.asking import words
from hotfix.proofs.testbed import Target, Testbed

# The client answers, or fails: an error from a proof would be one of the program's own.
CLIENT = """
def list_repo_tree(**asked):
    if isinstance(outcome, Exception):
        raise outcome
    return [outcome]
"""


@FIX.case(raises="ConnectionError|OfflineModeIsEnabled")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The listed templates. No network is used: the client's errors without a network are raised directly."""
    import requests
    from transformers.utils import hub

    offline = import_module("huggingface_hub.utils").OfflineModeIsEnabled

    class Entry:
        path = "additional_chat_templates/rag.jinja"

    def answering(outcome: Any) -> Any:
        client: dict[str, Any] = {"__name__": "huggingface_hub.hf_api", "outcome": outcome}
        exec(CLIENT, client)
        return client["list_repo_tree"]

    commit = "0123456789abcdef0123456789abcdef01234567"
    answers = {
        "offline": offline("offline mode is enabled"),
        "unreachable": requests.exceptions.ConnectionError("Max retries exceeded"),
        "reachable": Entry,
    }
    own, results = hub.list_repo_tree, {}
    with TemporaryDirectory() as folder:
        repository = Path(folder, "models--organisation--model")
        templates = repository / "snapshots" / commit / "additional_chat_templates"
        templates.mkdir(parents=True)
        (templates / "tool_use.jinja").write_text("{{ messages }}")
        (repository / "refs").mkdir()
        (repository / "refs" / "main").write_text(commit)
        try:
            for name, answer in answers.items():
                hub.list_repo_tree = answering(answer)
                listed = hub.list_repo_templates("organisation/model", local_files_only=False, cache_dir=folder)
                results[name] = words(
                    *(template[: -len(".jinja")] if template.endswith(".jinja") else template for template in listed)
                )
        finally:
            hub.list_repo_tree = own
    return results
