"""The text of an edit is the program that runs, and unedited code keeps its formatting."""

from __future__ import annotations

import ast
import copy

import pytest

from hotfix import Fix
from hotfix.commands.diff.edited_text import edited
from hotfix.patching import code
from hotfix.versions import source

BEFORE = '''
class Model:
    @decorated
    def forward(self, x, mask=None):
        """What it does."""
        y = x * self.scale.to(x.dtype)  # a comment
        if mask is None:
            # nothing is hidden
            y = y.clone( )
        elif mask.all():
            y = y + (
                1
            )
        for one in self.layers: y = one(y)
        text = f"{y.shape}"
        return y
'''

EDITS = {
    "an expression in the middle of another": ("self.scale.to(__D)", "self.scale if __D is None else None"),
    "an argument": ("x.dtype", "mask.dtype"),
    "a statement taken out": ("y = y.clone()\n", "pass"),
    "a statement put in front of another": ("y = y + 1", "check(y)\ny = y + 1"),
    "a statement under a condition": ("y = one(y)", "if one:\n    y = one(y)"),
    "the condition of an elif": ("mask.all()", "mask.any()"),
    "part of an f-string": ("y.shape", "y.size()"),
    "a name": ("return y", "return text"),
}


def fix_of(old, new, count=1):
    fix = Fix(id="planted", title="Planted", kind="crash")
    fix.edits("planted:Model.forward", old=old, new=new, count=count)
    return fix


def definition(text):
    definition_ = source.find(text, "Model.forward")
    assert definition_ is not None
    return definition_


def without_idle_pass(node):
    for inner in ast.walk(node):
        for name, block in ast.iter_fields(inner):
            if isinstance(block, list) and len(block) > 1:
                setattr(inner, name, [each for each in block if not isinstance(each, ast.Pass)])
    return node


@pytest.mark.parametrize("name", EDITS)
def test_the_text_is_the_edited_program_and_the_rest_stays(name):
    target = fix_of(*EDITS[name]).targets[0]
    function = definition(BEFORE)
    lines = edited(function, target, BEFORE)
    all_lines = BEFORE.splitlines()
    first = function.lineno - 1
    text = "\n".join([*all_lines[:first], *lines, *all_lines[first + len(function.text.splitlines()) :]])
    wanted = code.edited_tree(ast.Module([copy.deepcopy(function.node)], []), target).body[0]
    assert source.digest(definition(text).node) == source.digest(without_idle_pass(wanted))
    assert lines != function.text.splitlines()
    if name != "a statement under a condition":  # two statements on one line are rewritten as a whole
        kept = [line for line in function.text.splitlines() if line in lines]
        assert len(kept) >= len(function.text.splitlines()) - 3
        assert "# a comment" in "\n".join(lines) or "scale" in EDITS[name][0]


def test_an_edit_that_does_not_match_is_one_sentence():
    from hotfix.commands import CommandError

    with pytest.raises(CommandError, match=r"planted:Model\.forward: the pattern of the edit matches 0 times, not 1"):
        edited(definition(BEFORE), fix_of("absent(x)", "x").targets[0], BEFORE)
