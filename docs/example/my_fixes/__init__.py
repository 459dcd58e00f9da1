"""Two files with custom model code are taken for one and the same.

Symptom   Code loaded with ``trust_remote_code=True`` computes with the names of another file: happy.py and hap.py, both
          loaded, are one module called ``ha``, and the later one overwrites what the earlier one has defined.
Cause     The name of the module is made with ``rstrip(".py")``, which takes off all dots, p's and y's at the end, not
          the ending ``.py``.
Releases  transformers 4.41.0 and 4.41.1
Upstream  fixed in 4.41.2
Here      ``removesuffix(".py")`` in its place. The same classes with the same names as in 4.41.2.
"""

from pathlib import Path

from hotfix import Fix

FIX = Fix(
    id="module-names",
    title="Two files with custom model code are taken for one and the same",
    kind="silent",
    fixed_in="4.41.2",
    evidence=Path(__file__).with_name("evidence.json"),
)

FIX.edits(
    ("transformers.dynamic_module_utils:get_class_in_module", ">=4.41.0,<=4.41.1"),
    old='__PATH.rstrip(".py")',
    new='__PATH.removesuffix(".py")',
)


@FIX.case
def case(testbed, target):
    """Load two classes, and ask each of them which file it comes from."""
    import tempfile

    import torch
    from transformers import dynamic_module_utils

    folder = Path(tempfile.mkdtemp())
    dynamic_module_utils.HF_MODULES_CACHE = str(folder)
    for number, name in enumerate(("happy", "hap")):
        (folder / f"{name}.py").write_text(f"NUMBER = {number}\nclass Model:\n    def number(self): return NUMBER\n")
    models = [dynamic_module_utils.get_class_in_module("Model", f"{name}.py") for name in ("happy", "hap")]
    return {"numbers": torch.tensor([model().number() for model in models])}
