"""With a guard on, a model that was compiled or exported elsewhere does not pass for a repaired one.

- `hotfix.report()`, `digest()`, `assert_uniform()`, the callback of the Trainer and the end of the process stop a
  program that loaded an exported program or a function compiled ahead of time from modules that hotfix repairs, or an
  AOTInductor package whose metadata does not name the patch set of this process.
- Torch's cache of graphs from other processes (`TORCH_CACHING_PRECOMPILE`) is an error under every guard.
- Programs exported in the process itself, and artifacts of other code, stop nothing. Without a guard nothing stops.
"""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from hotfix.patching import compiled

from .conftest import World

torch = pytest.importorskip("torch")

MODEL = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return x + 1
"""
SAVE = "import torch\nfrom {module} import Model\n"
SAVE += "torch.export.save(torch.export.export(Model(), (torch.ones(2),)), 'model.pt2')\n"
LOAD = "import hotfix.auto, torch, transformers.toy as toy\nmodel = torch.export.load('model.pt2')\n"
LOAD += "print('step 0', toy.scale(5), flush=True)\n"


@pytest.mark.drawn(4, "long")
@pytest.mark.parametrize("module", ["transformers.model", "elsewhere"])
def test_an_exported_program_of_repaired_code_is_refused(world: World, module: str) -> None:
    world.write(f"{module.replace('.', '/')}.py", MODEL)
    made = SAVE.format(module=module)
    world.run(made, HOTFIX="0")
    done = world.run(LOAD, check=False, HOTFIX_STRICT="1", HOTFIX_LOG="quiet")
    assert "step 0 10" in done.stdout
    assert done.returncode == (1 if module == "transformers.model" else 0), done.stderr
    if module == "transformers.model":
        assert "exported program" in done.stderr
        done = world.run(
            LOAD.replace("print(", "import hotfix\nhotfix.report()\nprint("), check=False, HOTFIX_STRICT="1"
        )
        assert (done.returncode, done.stdout) == (1, "")
        assert world.run(LOAD, HOTFIX_LOG="quiet").stdout == "step 0 10\n"
        here = "import hotfix.auto, transformers.toy\n" + made.replace("torch.export.save(", "kept = (")
        world.run(here, HOTFIX_STRICT="1")


def test_a_cache_of_graphs_of_other_processes_is_refused_by_every_guard(world: World) -> None:
    code = "import hotfix.auto, hotfix, transformers.toy as toy\nprint('step 0', toy.scale(5))\n"
    digest = world.run(code.replace("'step 0', toy.scale(5)", "hotfix.digest()")).stdout.strip()
    for guard in ({"HOTFIX_STRICT": "1"}, {"HOTFIX_REQUIRE": "toy-scale"}, {"HOTFIX_PIN": digest}):
        assert world.run(code, **guard).stdout == "step 0 10\n"
        done = world.run(code, check=False, TORCH_CACHING_PRECOMPILE="1", **guard)
        assert (done.returncode, done.stdout) == (1, "")
        assert "TORCH_CACHING_PRECOMPILE" in done.stderr
    assert world.run(code, TORCH_CACHING_PRECOMPILE="1").stdout == "step 0 10\n"


class AOTICompiledModel(SimpleNamespace):
    def get_metadata(self) -> dict[str, str]:
        return dict(vars(self))


class AOTCompiledFunction(SimpleNamespace):
    pass


@pytest.mark.parametrize(
    ("artifact", "refused"),
    [
        (AOTICompiledModel(), True),
        (AOTICompiledModel(hotfix="000000000000"), True),
        (AOTICompiledModel(hotfix="111111111111"), False),
        (AOTCompiledFunction(_artifacts=None), False),
        *(
            (
                AOTCompiledFunction(_artifacts=SimpleNamespace(source_info=SimpleNamespace(inlined_sources=[source]))),
                refused,
            )
            for source, refused in (
                (SimpleNamespace(module="transformers.toy"), True),
                (SimpleNamespace(module="elsewhere"), False),
            )
        ),
    ],
    ids=str,
)
def test_an_artifact_is_refused_unless_it_is_known_to_be_of_this_patch_set(
    monkeypatch: pytest.MonkeyPatch, artifact: object, refused: bool
) -> None:
    monkeypatch.setattr(compiled, "_loaded", lambda: [artifact])
    names = compiled.unchecked(lambda module: module.startswith("transformers"), lambda: "111111111111")
    assert bool(names) is refused


AOTI = """
import hotfix.auto, hotfix, torch, transformers.toy as toy
class Model(torch.nn.Module):
    def forward(self, x):
        return toy.scale(x)
config = {{"aot_inductor.metadata": {metadata}}}
program = torch.export.export(Model(), (torch.ones(2),))
path = torch._inductor.aoti_compile_and_package(program, package_path="model.pt2", inductor_configs=config)
"""


@pytest.mark.slow
def test_a_package_of_aotinductor_says_with_which_patch_set_it_was_made(world: World) -> None:
    load = "import hotfix.auto, torch, transformers.toy\nmodel = torch._inductor.aoti_load_package('model.pt2')\n"
    load += "print(model(torch.ones(2)).tolist())\n"
    world.run(AOTI.format(metadata="{}"), HOTFIX_MODE="observe")
    done = world.run(load, check=False, HOTFIX_STRICT="1")
    assert (done.returncode, done.stdout) == (1, "[3.0, 3.0]\n")
    assert "AOTInductor" in done.stderr
    world.run(AOTI.format(metadata="{'hotfix': hotfix.digest()}"))
    assert world.run(load, HOTFIX_STRICT="1").stdout == "[2.0, 2.0]\n"
