"""liger-kernel: which of its patches stay on Llama and Qwen2. Its kernels need a GPU: nothing is computed."""

from common import begin, llama, tell

begin()
from liger_kernel.transformers import apply_liger_kernel_to_llama, apply_liger_kernel_to_qwen2
from transformers import AutoModelForCausalLM
from transformers.models.llama import modeling_llama
from transformers.models.qwen2 import modeling_qwen2

names = ("apply_rotary_pos_emb", "LlamaRMSNorm", "LlamaMLP")
tell("before", [getattr(modeling_llama, name).__module__ for name in names])
apply_liger_kernel_to_llama(fused_linear_cross_entropy=True)
apply_liger_kernel_to_qwen2()
tell("after", [getattr(modeling_llama, name).__module__ for name in names])
tell("qwen2", modeling_qwen2.Qwen2ForCausalLM.forward.__module__)
model = AutoModelForCausalLM.from_pretrained(llama("base"))
tell("layers", [type(module).__module__ for module in model.modules()])
tell("forward", type(model).forward.__module__)
