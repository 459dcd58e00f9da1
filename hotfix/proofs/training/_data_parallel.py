"""DataParallel for proofs on the CPU: torch's own code, but that copies between devices are views."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import torch


@contextmanager
def replicas_for_devices() -> Iterator[None]:
    """Who wraps a model in DataParallel gets one that runs it on each part of a batch, as if there were two devices.

    How arguments are taken apart and results are put together is torch's own `scatter_kwargs` and `gather`, down to
    arguments of which there are too few parts. Replicas are the module itself, one after another: gradients add up in
    its parameters, as they do where replicas are copies.
    """
    from torch.nn.parallel import scatter_gather

    class TwoReplicas(torch.nn.DataParallel):
        def __init__(self, module: torch.nn.Module) -> None:
            torch.nn.Module.__init__(self)  # the other constructor looks for devices
            self.module, self.device_ids, self.output_device, self.dim = module, [0, 1], 0, 0

        def forward(self, *inputs: Any, **kwargs: Any) -> Any:
            with patch.object(scatter_gather, "Scatter", _Scatter), patch.object(scatter_gather, "Gather", _Gather):
                arguments, keywords = self.scatter(inputs, kwargs, self.device_ids)
                outputs = [self.module(*positional, **other) for positional, other in zip(arguments, keywords)]
                return self.gather(outputs, self.output_device)

    with patch.object(torch.nn, "DataParallel", TwoReplicas):
        yield


def two_devices(trainer: Any) -> None:
    """Let a Trainer on the CPU believe in two GPUs."""
    trainer.args._n_gpu = 2


class _Scatter:
    """`torch.nn.parallel._functions.Scatter` without streams: ``tensor.chunk``, which refuses scalars."""

    @staticmethod
    def apply(devices: list[int], sizes: None, dim: int, tensor: torch.Tensor) -> tuple[torch.Tensor, ...]:
        parts: tuple[torch.Tensor, ...] = tensor.chunk(len(devices), dim)
        return parts


class _Gather:
    """`torch.nn.parallel._functions.Gather`: scalars become a vector, other tensors are concatenated."""

    @staticmethod
    def apply(device: int, dim: int, *tensors: torch.Tensor) -> torch.Tensor:
        return torch.cat([tensor.reshape(1) if tensor.dim() == 0 else tensor for tensor in tensors], dim)
