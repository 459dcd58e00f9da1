"""Remote code from a folder with a dot in its name cannot be imported.

Symptom   ``ModuleNotFoundError: No module named 'transformers_modules.MiniCPM-V-2'`` for a model in a folder
          ``MiniCPM-V-2.6``; the same for names on the Hub such as ``Phi-3.5-vision-instruct``.
Cause     The name of the folder becomes part of the name of a module, in which a dot separates packages. What the
          code imports from its own folder is looked for in a package that does not exist.
Releases  4.36.0 to 4.56.2
Upstream  first fixed in 4.57.1
Here      A dot becomes ``_dot_``, as since 4.57.1; names without a dot stay as they are.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    id="dynamic-module-dot-in-folder",
    title="ModuleNotFoundError: No module named 'transformers_modules.MiniCPM-V-2'",
    kind="crash",
    fixed_in="4.57.1",
)

FIX.edits(
    ("transformers.dynamic_module_utils:get_cached_module_file", ">=4.36.0,<=4.56.2"),
    old=[
        "submodule = os.path.basename(pretrained_model_name_or_path)",
        'submodule = pretrained_model_name_or_path.replace("/", os.path.sep)',
        "submodule == os.path.basename(pretrained_model_name_or_path)",
    ],
    new=[
        'submodule = os.path.basename(pretrained_model_name_or_path).replace(".", "_dot_")',
        'submodule = pretrained_model_name_or_path.replace(".", "_dot_").replace("/", os.path.sep)',
        'submodule == os.path.basename(pretrained_model_name_or_path).replace(".", "_dot_")',
    ],
)
