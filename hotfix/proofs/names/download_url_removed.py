"""The proof: a file is downloaded from a server on this machine, and the framework of a pipeline is read."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from hotfix.names.download_url_removed import FIX
from hotfix.proofs.names.asking import ask, listed, words
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(
    raises="ImportError: cannot import name '|AttributeError: '.*Pipeline' object has no attribute 'framework'",
    packages={"flash-attn": None},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The contents of the file, or the framework of the pipeline."""
    if target.qualname == "Pipeline.framework":
        from transformers import TextClassificationPipeline

        pipeline: Any = TextClassificationPipeline.__new__(TextClassificationPipeline)
        if "framework" in ask(target).__init__.__code__.co_varnames:  # the release sets it
            pipeline.framework = "pt"
        namespace: dict[str, Any] = {"pipeline": pipeline}
        exec("found = pipeline.framework", namespace)
        return {"framework": words(namespace["found"])}
    _go_online()
    server = HTTPServer(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.handle_request, daemon=True).start()
    path = Path(ask(target)(f"http://127.0.0.1:{server.server_port}/file"))
    content = path.read_bytes()
    path.unlink()
    server.server_close()
    return {"content": torch.tensor(list(content)), "listed": listed(target)}


def _go_online() -> None:
    """Let huggingface_hub reach this machine, although the testbed is offline."""
    hub: Any = import_module("huggingface_hub")
    hub.constants.HF_HUB_OFFLINE = False
    for name in ("reset_sessions", "close_session"):  # they keep the adapter that refuses
        getattr(hub.utils._http, name, lambda: None)()


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"bytes")

    def log_message(self, *args: Any) -> None:
        """Print nothing."""
