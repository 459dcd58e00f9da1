"""Compares JSON with docs/schemas, and rejects any field that they do not name."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from tests.commands.cli_runs import ROOT

SCHEMAS = ROOT / "docs" / "schemas" / "v1.json"


def check(name: str, value: object) -> None:
    """Compare a value with one of the definitions.

    Args:
        name: of the definition.
        value: the printed or stored JSON, parsed.

    Raises:
        AssertionError: it does not match the definition.
    """
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is missing")
    validator = jsonschema.Draft202012Validator({**_closed(), "$ref": f"#/$defs/{name}"})
    errors = [f"{'/'.join(map(str, error.absolute_path))}: {error.message}" for error in validator.iter_errors(value)]
    if errors:
        raise AssertionError("\n".join(error[:300] for error in errors))


@cache
def _closed() -> dict[str, Any]:
    """The schemas, with fields that they do not name forbidden."""

    def close(schema: Any) -> Any:
        if isinstance(schema, list):
            return [close(part) for part in schema]
        if not isinstance(schema, dict):
            return schema
        more = {"additionalProperties": False} if schema.get("type") == "object" and "properties" in schema else {}
        return {**more, **{name: close(part) for name, part in schema.items()}}

    made: dict[str, Any] = close(json.loads(SCHEMAS.read_text()))
    return made
