"""``shard_checkpoint`` is gone from ``transformers.modeling_utils``.

Symptom   ``ImportError: cannot import name 'shard_checkpoint' from 'transformers.modeling_utils'`` from AutoAWQ up to
          0.2.7, older releases of optimum and auto-round.
Cause     The function was removed, and ``split_torch_state_dict_into_shards`` of huggingface_hub recommended. That one
          gives a tensor that is larger than a shard a file of its own and goes on filling the shard before it; the
          files are others then.
Releases  4.47.0 and later
Upstream  not put back
Here      The results of 4.46.3: the same files with the same tensors, and the same index. There is no deprecation
          warning.
"""

from __future__ import annotations

from typing import Any, Callable, Optional, Union

from hotfix.fix import Fix

FIX = Fix(
    title="ImportError: cannot import name 'shard_checkpoint' from 'transformers.modeling_utils'",
    kind="removed-api",
    group="removed-names",
)

Shards = dict[str, dict[str, Any]]


@FIX.adds_made(("transformers.modeling_utils:shard_checkpoint", ">=4.47.0"))
def made(modeling_utils: Any) -> Callable[..., Any]:
    """The function, based on the release's helpers for sizes and storages."""

    def shard_checkpoint(
        state_dict: dict[str, Any], max_shard_size: Union[int, str] = "10GB", weights_name: str = "pytorch_model.bin"
    ) -> tuple[Shards, Optional[dict[str, Any]]]:
        """Spread the tensors of a model over files of a limited size, in their order.

        Args:
            state_dict: the tensors by name; what is a string among them (bitsandbytes) is left out.
            max_shard_size: of a file; in bytes, or as ``5GB``. A tensor that is larger has a file of its own.
            weights_name: name of the file, where one is enough.

        Returns:
            The tensors of each file, and the index; None in its place where there is one file.
        """
        from transformers.utils.hub import convert_file_size_to_int

        shards, total = _spread(state_dict, convert_file_size_to_int(max_shard_size))
        if len(shards) == 1:
            return {weights_name: shards[0]}, None
        files = [_numbered(weights_name, number, len(shards)) for number in range(1, len(shards) + 1)]
        # It has all tensors, also where a name without an ending is that of all files.
        places = {name: file for file, shard in zip(files, shards) for name in shard}
        return dict(zip(files, shards)), {"metadata": {"total_size": total}, "weight_map": places}

    return shard_checkpoint


def _spread(tensors: dict[str, Any], limit: int) -> tuple[list[dict[str, Any]], float]:
    """The tensors of each file, and how many bytes they take together."""
    from transformers.pytorch_utils import id_tensor_storage

    shards: list[dict[str, Any]] = [{}]
    sizes: list[float] = [0]
    homes: dict[Any, dict[str, Any]] = {}
    for name, tensor in tensors.items():
        if isinstance(tensor, str):
            continue
        storage = id_tensor_storage(tensor)
        home = None if tensor.device.type == "meta" else homes.get(storage)  # of those that share its memory
        if home is None:
            size = _size(tensor)
            if shards[-1] and sizes[-1] + size > limit:
                shards.append({})
                sizes.append(0)
            sizes[-1] += size
            home = homes[storage] = shards[-1]
        home[name] = tensor
    return shards, sum(sizes)


def _size(tensor: Any) -> float:
    """In bytes. A bool was an eighth of one, which makes the total of the index a fraction."""
    import torch

    size: float = tensor.numel() * (1 / 8 if tensor.dtype == torch.bool else tensor.element_size())
    return size


def _numbered(name: str, number: int, count: int) -> str:
    """The name of one of several files."""
    for ending in (".bin", ".safetensors"):
        name = name.replace(ending, f"-{number:05d}-of-{count:05d}{ending}")
    return name
