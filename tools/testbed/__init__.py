"""The CPU testbed: any `transformers` release with real flash-attn, on a machine without a GPU.

A bug in model code is proved on the release that has it, with the attention that shows it. This
package runs such a proof in its own process:

    from tools.testbed.run import run

    result = run("hotfix.models.some_bug:case", transformers="4.49.0", flash_attn="2.7.4.post1",
                 hotfix=False)
    assert result.error[0] == "AssertionError"

The steps, file by file:

    overlay.py  installs a release (and any other requirements) once, in its own cached folder;
                never torch, which comes from the environment that runs the tests
    run.py      has the case or script run on these folders, collects the result
    servers.py  keeps a few processes that hold a release ready, so that a case costs a fork
    serve.py    these processes: torch, then hotfix armed or not, then transformers' common part
    child.py    runs the case, writes the result
    cpu.py      adapts the child's torch and flash-attn to a machine without a GPU
    kernel.py   attention written from flash-attn's documentation; the only part that is ours, in
                place of the compiled kernels
    path/       a folder on the child's PYTHONPATH, through which torch and flash-attn find cpu.py

The first run on a release downloads it (a second or two); everything is kept in `$TESTBED_CACHE`, by
default `~/.cache/transformers-hotfix/testbed`, and may be deleted at any time. The environment
needs torch 2.5 or later (CPU), triton, uv, and to build flash-attn's Python part once, setuptools,
wheel, packaging, psutil, ninja and einops.

Limits: no dropout in flash attention, no paged key/value cache, no operators of xformers.
"""
