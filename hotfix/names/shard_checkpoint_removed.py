"""``shard_checkpoint`` is gone from ``transformers.modeling_utils``.

Symptom   ``ImportError: cannot import name 'shard_checkpoint' from 'transformers.modeling_utils'`` from AutoAWQ up to
          0.2.7, older releases of optimum and auto-round.
Cause     The function was removed, and ``split_torch_state_dict_into_shards`` of huggingface_hub recommended. That one
          gives a tensor that is larger than a shard a file of its own and goes on filling the shard before it; the
          files are others then.
Releases  4.47.0 to 5.23.0
Upstream  not put back
Here      What it gave in 4.46.3: the same files with the same tensors in them, and the same index. It does not warn
          that it is deprecated.
"""

from __future__ import annotations

from typing import Any, Callable, Optional, Union

from hotfix.fix import Fix

FIX = Fix(
    id="shard-checkpoint-removed",
    title="ImportError: cannot import name 'shard_checkpoint' from 'transformers.modeling_utils'",
    kind="removed-api",
    optin=True,
    group="removed-names",
)

Shards = dict[str, dict[str, Any]]


@FIX.adds_made(("transformers.modeling_utils:shard_checkpoint", ">=4.47.0"))
def made(modeling_utils: Any) -> Callable[..., Any]:
    """The function, over what the release knows of sizes and storages."""

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
        import torch
        from transformers.pytorch_utils import id_tensor_storage
        from transformers.utils.hub import convert_file_size_to_int

        limit = convert_file_size_to_int(max_shard_size)
        shards: list[dict[str, Any]] = [{}]
        homes: dict[Any, dict[str, Any]] = {}
        filled: float = 0
        total: float = 0
        for name, tensor in state_dict.items():
            if isinstance(tensor, str):
                continue
            storage = id_tensor_storage(tensor)
            if storage in homes and tensor.device.type != "meta":
                homes[storage][name] = tensor  # where the tensor is that it shares its memory with
                continue
            # A bool was an eighth of a byte, which makes the total of the index a fraction.
            size = tensor.numel() * (1 / 8 if tensor.dtype == torch.bool else tensor.element_size())
            if shards[-1] and filled + size > limit:
                shards.append({})
                filled = 0
            shards[-1][name] = tensor
            homes[storage] = shards[-1]
            filled += size
            total += size
        if len(shards) == 1:
            return {weights_name: shards[0]}, None
        named: Shards = {}
        places: dict[str, str] = {}  # of all tensors, also where a name without an ending is that of all files
        for number, shard in enumerate(shards, start=1):
            tail = f"-{number:05d}-of-{len(shards):05d}"
            file = weights_name
            for ending in (".bin", ".safetensors"):
                file = file.replace(ending, tail + ending)
            named[file] = shard
            places.update(dict.fromkeys(shard, file))
        return named, {"metadata": {"total_size": total}, "weight_map": places}

    return shard_checkpoint
