"""Which constructors may run once more: those that only build their module."""

from __future__ import annotations

import logging
import math
import random
import signal
from typing import Any

import pytest
import torch
from torch import nn

from hotfix.loading._only_builds import only_builds

SEEN: list[Any] = []
GENERATOR = torch.Generator()
logger = logging.getLogger(__name__)


def frequencies(width: int) -> Any:
    return 1.0 / 10000 ** (torch.arange(0, width, 2).float() / width)


def kept(layer: Any) -> Any:
    SEEN.append(layer)
    return layer


class Meter:
    def __init__(self) -> None:
        SEEN.append(self)


class Settings:
    def __init__(self, width: int) -> None:
        self.width = width


class Part(nn.Module):
    def __init__(self, width: int = 4) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width) * 0.02)
        nn.init.trunc_normal_(self.weight, std=math.sqrt(1 / width))


class Computes(nn.Module):
    def __init__(self, depth: int = 2, norm: Any = nn.LayerNorm) -> None:
        super().__init__()
        self.parts = nn.ModuleList([Part(4) for _ in range(depth)])
        self.settings = Settings(4)
        self.norm = norm(4)
        self.register_buffer("frequencies", frequencies(8), persistent=False)
        self.names = {}
        self.names["first"] = [value for value in (1, 2)]
        logger.info("built %s", type(self).__name__)
        self.reset()
        self.apply(self.start)

    def reset(self) -> None:
        nn.init.ones_(self.norm.weight)

    def start(self, module: Any) -> None:
        if isinstance(module, Part):
            module.weight.data.zero_()


class ListsItself(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        SEEN.append(self)


class ByAFunction(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = kept(nn.Linear(2, 2))


class ByAPlainClass(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.meter = Meter()


class ByAMethod(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.note()

    def note(self) -> None:
        SEEN.append("built")


class HandsOnAMethod(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        signal.signal(signal.SIGTERM, self.stop)

    def stop(self, *given: Any) -> None:
        pass


class Handler(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.log = logging.getLogger("own")
        self.log.addHandler(logging.StreamHandler())


class HandlerOfAnother(nn.Module):
    def __init__(self, log: Any = None) -> None:
        super().__init__()
        log.addHandler(None)


class HookOfAll(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.nn.modules.module.register_module_forward_hook(print)


class Draws(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, generator=GENERATOR))


class DrawsByPython(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.seed = random.random()


class Reads(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        with open("weights") as opened:
            self.text = opened.read()


class Hooks(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.nn.modules.module.register_module_forward_hook(self.show)

    def show(self, *given: Any) -> None:
        pass


class Imports(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        import colorsys

        self.colour = colorsys.rgb_to_hsv(1, 1, 1)


class IsFreed(nn.Module):
    def __del__(self) -> None:
        pass


class Counts(nn.Module):
    made = 0

    def __init__(self) -> None:
        super().__init__()
        Counts.made += 1


@pytest.mark.parametrize("kind", [Part, Computes, nn.Linear, nn.LSTM])
def test_a_constructor_that_only_builds(kind: type) -> None:
    assert only_builds(kind.__mro__)


@pytest.mark.parametrize(
    "kind",
    [
        *(ListsItself, ByAFunction, ByAPlainClass, ByAMethod, HandsOnAMethod, Handler, Draws, DrawsByPython, Reads),
        *(Hooks, HookOfAll, HandlerOfAnother, Imports, IsFreed, Counts),
    ],
)
def test_a_constructor_that_does_more(kind: type) -> None:
    assert not only_builds(kind.__mro__)


def test_a_constructor_without_source() -> None:
    space: dict[str, Any] = {"nn": nn, "__name__": "own"}
    exec("class Own(nn.Module):\n    def __init__(self):\n        super().__init__()\n", space)
    assert not only_builds(space["Own"].__mro__)
