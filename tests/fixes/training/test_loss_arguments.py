"""The table of classes that take loss arguments is what the wheels of those releases say."""

from __future__ import annotations

import ast
import zipfile

import pytest
from packaging.version import Version

from hotfix.triggers.training._loss_arguments import TAKES
from tools import wheels

ENDS = ("LMHeadModel", "DoubleHeadsModel")


def taking(wheel, name=""):
    """The classes of models whose forward has ``**kwargs``; with a name, only those that call it so."""
    readers = set()
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.namelist():
            file = member.rpartition("/")[2]
            if not member.startswith("transformers/models/") or not file.startswith("modeling_"):
                continue
            if not file.endswith(".py") or file.startswith(("modeling_tf_", "modeling_flax_")):
                continue
            classes = {
                statement.name: statement
                for statement in ast.parse(archive.read(member)).body
                if isinstance(statement, ast.ClassDef)
            }
            for cls in classes.values():
                bases = [classes[base.id] for base in cls.bases if isinstance(base, ast.Name) and base.id in classes]
                if ("For" in cls.name or cls.name.endswith(ENDS)) and not any(map(refuses, [cls, *bases])):
                    readers |= {cls.name} if takes(cls, name) else set()
    return readers


def refuses(definition):
    return "accepts_loss_kwargs = False" in [
        ast.unparse(statement) for statement in definition.body if isinstance(statement, ast.Assign)
    ]


def takes(definition, name):
    forwards = [
        statement
        for statement in definition.body
        if isinstance(statement, ast.FunctionDef) and statement.name == "forward"
    ]
    extra = forwards[-1].args.kwarg if forwards else None
    return extra is not None and name in ("", extra.arg)


@pytest.mark.slow
@pytest.mark.parametrize("release", TAKES)
def test_the_table_matches_the_wheel(release):
    there = wheels.cached("transformers", wheels.default_cache())
    if Version(release) not in there:
        pytest.skip(f"the wheel of transformers {release} is not in {wheels.default_cache()}")
    named = "loss_kwargs" if release.startswith("4.46.") else ""
    assert taking(there[Version(release)], named) == TAKES[release]
