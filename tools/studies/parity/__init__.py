"""CUDA parity: every fix, broken before and right after, on a real device and at the sizes of real models.

    plan.py    the comparisons: one `Entry` for a fix, a release and a dtype
    cases.py   the cases at the widths of real models; their sizes are parameters
    runner.py  one fresh interpreter for each run, the comparison, one file of results
    child.py   the process that runs one case
    path/      a replacement for flash-attn's compiled kernels, if they are not there
    build_flash_attn.sh  builds them, in the background

``python -m tools.studies.parity --device cuda --out result.json`` runs the plan; with ``--device cpu`` the same runner
goes through it with tiny sizes, on the CPU testbed. `tools.studies.parity.bundle` packs all of it for a machine without
a network, and `tools.studies.parity.page` makes docs/parity.md of the results.
"""
