"""LLaMA-Factory: its own Trainer, through the entry point of its command line; saved and read."""

import json
from pathlib import Path

from common import begin, llama, tell, tell_folder, tell_model

begin()
from llamafactory.train.tuner import run_exp
from transformers import AutoModelForCausalLM

Path("data").mkdir()
rows = [{"instruction": "a b c", "input": "", "output": " ".join("defghijk"[: 2 + number])} for number in range(8)]
Path("data/own.json").write_text(json.dumps(rows))
Path("data/dataset_info.json").write_text(json.dumps({"own": {"file_name": "own.json"}}))
run_exp(
    {
        "model_name_or_path": llama("base"), "stage": "sft", "do_train": True, "finetuning_type": "full",
        "dataset": "own", "dataset_dir": "data", "template": "empty", "cutoff_len": 32, "output_dir": "out",
        "per_device_train_batch_size": 2, "gradient_accumulation_steps": 2, "learning_rate": 1e-2, "max_steps": 2,
        "logging_steps": 1, "save_steps": 2, "report_to": "none", "use_cpu": True, "overwrite_cache": True,
        "preprocessing_num_workers": 1, "disable_tqdm": True, "lr_scheduler_type": "constant", "seed": 0,
    }
)  # fmt: skip
state = json.loads(Path("out/trainer_state.json").read_text())
tell("losses", [[row.get("loss"), row.get("grad_norm")] for row in state["log_history"]])
tell_folder("out")
tell_model(AutoModelForCausalLM.from_pretrained("out"))
