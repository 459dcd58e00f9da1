"""The note on an error about a name that an opt-in fix would restore, in a real release."""

from __future__ import annotations

import textwrap

import pytest

from tools.testbed.run import run

ASK = """
    import sys
    import transformers
    first = sys.modules["transformers"]
    import transformers.processing_utils  # 5.3.0 executes its package again here
    from transformers import AdamW
    print("AdamW", AdamW.__name__)
    for ask in (
        "from transformers.models.llama.modeling_llama import LlamaFlashAttention2",
        "from transformers import BeamSearchScorer",
        "import transformers; transformers.BeamSearchScorer",
        "from transformers import NothingOfTheKind",
    ):
        try:
            exec(ask, {})
        except (ImportError, AttributeError) as error:
            said = [str(error), *getattr(error, "__notes__", ())]
            print(type(error).__name__, str(said).count("removed-names"))
    import hotfix
    hotfix.revert()
    try:
        from transformers import BeamSearchScorer
    except ImportError as error:
        print("reverted", getattr(error, "__notes__", None), type(sys.modules["transformers"]).__mro__[1].__name__)
"""


@pytest.mark.testbed
@pytest.mark.parametrize("release", ["5.3.0"])
def test_the_error_says_which_switch_gives_the_name_back(release, tmp_path):
    script = tmp_path / "ask.py"
    script.write_text(textwrap.dedent(ASK))
    done = run(script, transformers=release, flash_attn=None, env={"HOTFIX_OPTIN": "adamw-removed"})
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stdout.splitlines() if line]
    assert said == [
        "AdamW AdamW",
        "ImportError 1",
        "ImportError 1",
        "AttributeError 1",
        "ImportError 0",
        "reverted None module",
    ]
