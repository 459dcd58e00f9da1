"""A page of the matrix made of two fixes, for the tests of the page: as a text here, and in a browser."""

from __future__ import annotations

from pathlib import Path

from hotfix.fix import Fix
from tools import evidence, page

EXAMINED = [f"4.{minor}.{micro}" for minor in range(36, 58) for micro in range(3)]
MODULE = "hotfix.models.flash_rotary_dtype"  # its docstring has the symptom
SOURCE = "0123456789abcdef0123"
ONE = "transformers.models.one.modeling_one:rotate"
TWO = "transformers.models.two.modeling_two:Two.forward"
RESULTS = {
    "versions": {"torch": "2.13.0", "hotfix": "0.1"},
    "fixes": {
        "rotary": {
            ONE: {
                "4.40.0": {
                    "result": "repaired",
                    "source": SOURCE,
                    "before": "AssertionError: same dtype <b>",
                    "oracle": "4.42.0",
                    "difference": 0.0,
                    "of": "",
                },
                "4.40.1": {"result": "failed", "source": SOURCE, "reason": "it differs"},
                "4.40.2": {"result": "repaired", "source": "of another text"},
            }
        }
    },
}


def fixes() -> dict[str, Fix]:
    """The fixes, by the modules that would define them."""
    rotary = Fix(
        id="rotary",
        title="It refuses <bfloat16>.",
        kind="crash",
        upstream=("transformers#36065", "flash-attention@1870a0dc", "hearsay"),
        fixed_in="4.41.0",
    )
    rotary.replaces(ONE, TWO)(lambda q: None)
    var = Fix(id="var", title="Another.", kind="silent", optin="It is asked for.")
    var.replaces("*.basic_var:rotate")(lambda q: None)
    return {MODULE: rotary, "hotfix.models": var}


def made(folder: Path) -> str:
    """The text of the page; its evidence is written to this folder."""
    broken = {
        "absent": ["4.36.0 - 4.39.2"],
        "broken": {SOURCE: ["4.40.0 - 4.41.2"]},
        "fixed": {"a" * 20: ["4.42.0 and later"]},
    }
    later = {"absent": ["4.36.0 - 4.49.2"], "broken": {SOURCE: ["4.50.0 and later"]}, "fixed": {}}
    by_hand = {"broken": {SOURCE: ["75ba1e2"]}, "fixed": {"b" * 20: ["2236c79"]}}
    evidence.write(folder / "index.json", {"examined": {"transformers": EXAMINED}})
    evidence.write(folder / "rotary.json", {"fix": "rotary", "targets": {ONE: broken, TWO: later}})
    evidence.write(folder / "var.json", {"fix": "var", "targets": {"*.basic_var:rotate": by_hand}})
    return page.render(fixes(), RESULTS, folder)
