"""Run each program of a folder in a child of this process, and print its name before its output."""

import os
import runpy
import sys
from pathlib import Path

import torch
from transformers import BertModel, LlamaForCausalLM, Qwen2ForCausalLM, Trainer

assert all((BertModel, LlamaForCausalLM, Qwen2ForCausalLM, Trainer))  # once, not in each child
torch.set_num_threads(1)
for program in sorted(Path(os.environ["PROGRAMS"]).iterdir()):
    print(f"== {program.stem}", flush=True)
    child = os.fork()
    if child == 0:
        runpy.run_path(str(program), run_name="__main__")  # a handler here would count as the program's
        sys.stdout.flush()
        os._exit(0)
    print(f"status {os.waitpid(child, 0)[1]}", flush=True)
