"""Two models with code of their own, as `trust_remote_code=True` loads them: one file is happy.py, the other hap.py."""

import os
import pathlib
import tempfile

folder = pathlib.Path(tempfile.mkdtemp())
os.environ["HF_MODULES_CACHE"] = str(folder)
for name in ("happy", "hap"):
    (folder / f"{name}.py").write_text(f"FILE = {name!r}\nclass Model:\n    def file(self): return FILE\n")

from transformers.dynamic_module_utils import get_class_in_module  # noqa: E402

models = [get_class_in_module("Model", f"{name}.py") for name in ("happy", "hap")]
print("they come from", *(model().file() for model in models))
