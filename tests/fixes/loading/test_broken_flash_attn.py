"""A flash-attn whose compiled part lacks a symbol: the outcome for users who request it, and for those who do not."""

from __future__ import annotations

import pytest

from hotfix.proofs.loading.flash_attn_broken_binary_breaks_import import BROKEN, USER
from tools.testbed.run import run_script

pytestmark = pytest.mark.testbed


@pytest.mark.parametrize("release", ["4.42.4", "4.46.3"])
def test_importing_it_reports_the_original_import_error(release, tmp_path):
    (tmp_path / "flash_attn_2_cuda.py").write_text(BROKEN)
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import hotfix.auto\n{USER}"
    done = run_script("-c", [code], transformers=release).require()
    assert '"asked for": "ImportError: flash_attn_2_cuda.so: undefined symbol' in done.stdout
    warnings = [line for line in done.stderr.splitlines() if "flash-attn cannot be imported" in line]
    assert len(warnings) == 1
    assert "undefined symbol" in warnings[0]
