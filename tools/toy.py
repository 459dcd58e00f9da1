"""The toy on which the tests of the engine and the fuzzer try repairs."""

TOY = '''
"""A toy module. What is wrong with it: `scale` adds where it should multiply."""

import functools


def scale(x, factor=2):
    """Scale x."""
    return x + factor


SCALERS = {"plain": scale}


class Lazy(dict):
    """Like the maps of transformers' auto classes: to ask for its items is to import every model."""

    def items(self):
        raise AssertionError("everything would be imported")

    values = items


MODELS = Lazy(one="model")


def logged(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


class Base:
    def forward(self, x, mask=None):
        return x


class Layer(Base):
    @logged
    def forward(self, x, mask=None):
        if mask is not None:
            total = functools.reduce(int.__add__, mask)
            if total == 0:
                raise ValueError("padding")
        return super().forward(x) + 1

    @staticmethod
    def halve(x):
        return x - 2
'''
