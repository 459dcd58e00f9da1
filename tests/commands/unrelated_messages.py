"""Error messages that no known bug has: of torch, CUDA, accelerate, tokenizers, and of a user's own mistakes.

Short lines, as their users see them. Each may be raised under any release of transformers, broken or not, and points to
no bug: ``hotfix explain`` may list similar messages, but must not be certain.
"""

from __future__ import annotations

UNRELATED = (
    # torch: shapes, dtypes, devices
    "RuntimeError: mat1 and mat2 must have the same dtype, but got Float and BFloat16",
    "RuntimeError: mat1 and mat2 shapes cannot be multiplied (8x512 and 768x768)",
    "RuntimeError: expected scalar type Half but found Float",
    "RuntimeError: Input type (float) and bias type (c10::Half) should be the same",
    "RuntimeError: Input type (torch.cuda.FloatTensor) and weight type (torch.FloatTensor) should be the same",
    "RuntimeError: The size of tensor a (512) must match the size of tensor b (77) at non-singleton dimension 1",
    "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu! "
    "(when checking argument for argument index in method wrapper_CUDA__index_select)",
    "RuntimeError: Sizes of tensors must match except in dimension 1. Expected size 4 but got size 3 for tensor "
    "number 1 in the list.",
    "RuntimeError: shape '[2, 16, 64]' is invalid for input of size 4096",
    "RuntimeError: Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; "
    "but got torch.FloatTensor instead (while checking arguments for embedding)",
    "RuntimeError: expected m1 and m2 to have the same dtype, but got: float != c10::Half",
    "\"addmm_impl_cpu_\" not implemented for 'Half'",
    "RuntimeError: \"LayerNormKernelImpl\" not implemented for 'Half'",
    "IndexError: index out of range in self",
    "IndexError: list index out of range",
    "IndexError: Target 32 is out of bounds.",
    "ValueError: Expected input batch_size (16) to match target batch_size (8).",
    "ValueError: Target size (torch.Size([16])) must be the same as input size (torch.Size([16, 1]))",
    # torch: autograd, state dicts, compile, data
    "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn",
    "RuntimeError: Trying to backward through the graph a second time (or directly access saved tensors after they "
    "have already been freed).",
    "RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation: "
    "[torch.FloatTensor [16, 768]], which is output 0 of AddmmBackward0, is at version 2; expected version 1 instead.",
    "RuntimeError: Error(s) in loading state_dict for LlamaForCausalLM: size mismatch for lm_head.weight: copying a "
    "param with shape torch.Size([32001, 4096]) from checkpoint, the shape in current model is "
    "torch.Size([32000, 4096]).",
    "_pickle.UnpicklingError: Weights only load failed. This file can still be loaded, to do so you have two options.",
    "torch._dynamo.exc.Unsupported: call_function BuiltinVariable(print) [ConstantVariable(str)] {}",
    "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:",
    "RuntimeError: DataLoader worker (pid 2345) is killed by signal: Killed.",
    "RuntimeError: unable to open shared memory object </torch_123_456> in read-write mode",
    "RuntimeError: stack expects each tensor to be equal size, but got [128] at entry 0 and [97] at entry 1",
    "ValueError: expected sequence of length 12 at dim 1 (got 9)",
    "TypeError: default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found "
    "<class 'NoneType'>",
    "AttributeError: module 'torch' has no attribute 'compiler'",
    "AttributeError: 'Tensor' object has no attribute 'append'",
    # CUDA, NCCL
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.69 GiB "
    "of which 1.20 GiB is free.",
    "RuntimeError: CUDA error: device-side assert triggered",
    "RuntimeError: CUDA error: no kernel image is available for execution on the device",
    "RuntimeError: CUDA error: an illegal memory access was encountered",
    "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
    "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`",
    "RuntimeError: cuDNN error: CUDNN_STATUS_NOT_INITIALIZED",
    "AssertionError: Torch not compiled with CUDA enabled",
    "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a "
    "driver.",
    "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1970, unhandled system error",
    "RuntimeError: [1]: params[0] in this process with sizes [768, 768] appears not to match sizes of the same param "
    "in process 0.",
    "RuntimeError: Expected to have finished reduction in the prior iteration before starting a new one.",
    "RuntimeError: FlashAttention only supports Ampere GPUs or newer.",
    "ImportError: libcudart.so.12: cannot open shared object file: No such file or directory",
    # accelerate, DeepSpeed, bitsandbytes
    "ValueError: Query/Key/Value should all have BMGHK, BMHK, or BMK shape.",
    "ImportError: Using `low_cpu_mem_usage=True` or a `device_map` requires Accelerate: `pip install accelerate`",
    "ValueError: You can't train a model that has been loaded in 8-bit precision on a different device than the one "
    "you're training on.",
    "ValueError: fp16 mixed precision requires a GPU (not 'mps').",
    "ValueError: Attempting to unscale FP16 gradients.",
    "RuntimeError: You can't move a model that has some modules offloaded to cpu or disk.",
    "ValueError: The model has been loaded with `accelerate` and therefore cannot be moved to a specific device.",
    "AttributeError: 'AcceleratorState' object has no attribute 'distributed_type'",
    "AttributeError: 'Accelerator' object has no attribute 'deepspeed_config'",
    "TypeError: Accelerator.__init__() got an unexpected keyword argument 'logging_dir'",
    "AssertionError: You can't use same Accelerator() instance with multiple models when using DeepSpeed",
    "ValueError: .to is not supported for 4-bit or 8-bit models.",
    # tokenizers, the Hub, loading
    "Exception: data did not match any variant of untagged enum PyPreTokenizerTypeWrapper at line 40 column 3",
    "Exception: data did not match any variant of untagged enum PyNormalizerTypeWrapper at line 49 column 3",
    "thread '<unnamed>' panicked at 'no entry found for key', tokenizers-lib/src/models/mod.rs:36:66",
    "pyo3_runtime.PanicException: AddedVocabulary bad split",
    "TypeError: TextEncodeInput must be Union[TextInputSequence, Tuple[InputSequence, InputSequence]]",
    "ValueError: Unable to create tensor, you should probably activate truncation and/or padding with "
    "'padding=True' 'truncation=True' to have batched tensors with the same length.",
    "ValueError: Asking to pad but the tokenizer does not have a padding token.",
    "ValueError: not enough values to unpack (expected 2, got 1)",
    "ValueError: Couldn't instantiate the backend tokenizer from one of: (1) a `tokenizers` library serialization "
    "file, (2) a slow tokenizer instance to convert or (3) an equivalent slow tokenizer class to instantiate and "
    "convert.",
    "OSError: gpt5 is not a local folder and is not a valid model identifier listed on 'https://huggingface.co/models'",
    "OSError: We couldn't connect to 'https://huggingface.co' to load this file, couldn't find it in the cached files "
    "and it looks like google/bert is not the path to a directory containing a file named config.json.",
    "OSError: bert-base-uncased does not appear to have a file named preprocessor_config.json.",
    "OSError: Unable to load weights from pytorch checkpoint file",
    "safetensors_rust.SafetensorError: Error while deserializing header: HeaderTooLarge",
    "huggingface_hub.errors.HFValidationError: Repo id must be in the form 'repo_name' or 'namespace/repo_name'",
    "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='huggingface.co', port=443): Max retries exceeded "
    "with url: /bert-base-uncased/resolve/main/config.json",
    "huggingface_hub.errors.OfflineModeIsEnabled: Cannot reach https://huggingface.co/api/models/org/model: offline "
    "mode is enabled. To disable it, please unset the `HF_HUB_OFFLINE` environment variable.",
    # a program's own
    "TypeError: 'NoneType' object is not iterable",
    "AttributeError: 'NoneType' object has no attribute 'shape'",
    "AttributeError: 'MyModel' object has no attribute 'train'",
    "AttributeError: 'LlamaModel' object has no attribute 'lm_head'",
    "TypeError: Logger.log() takes 2 positional arguments but 3 were given",
    "TypeError: my_forward() missing 1 required positional argument: 'position_ids'",
    "ModuleNotFoundError: No module named 'weave'",
    "ModuleNotFoundError: No module named 'flash_attn'",
    "KeyError: 'input_ids'",
    "KeyError: 'type'",
    "ValueError: ElectraForSequenceClassification does not support Flash Attention 2.0 yet. Please request to add "
    "support where the model is hosted.",
)
