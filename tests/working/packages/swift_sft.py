"""ms-swift: its own Trainer, through the entry point of its command line; saved and read."""

import json
from pathlib import Path

from common import begin, llama, tell, tell_model

begin()
from swift.llm import TrainArguments, sft_main
from transformers import AutoModelForCausalLM

answers = [" ".join("defghijk"[: 2 + number]) for number in range(8)]
rows = [
    {"messages": [{"role": "user", "content": "a b c"}, {"role": "assistant", "content": answer}]} for answer in answers
]
Path("own.jsonl").write_text("\n".join(map(json.dumps, rows)))
sft_main(
    TrainArguments(
        model=llama("base"), model_type="llama3", template="default", train_type="full", dataset=["own.jsonl"],
        max_length=32, output_dir="out", add_version=False, torch_dtype="float32", split_dataset_ratio=0,
        per_device_train_batch_size=2, gradient_accumulation_steps=2, learning_rate=1e-2, max_steps=2,
        logging_steps=1, save_steps=2, report_to=["none"], use_cpu=True, disable_tqdm=True, seed=0,
        lr_scheduler_type="constant", warmup_ratio=0.0, gradient_checkpointing=False, dataloader_num_workers=0,
        attn_impl="eager",
    )
)  # fmt: skip
state = json.loads(Path("out/checkpoint-2/trainer_state.json").read_text())
tell("losses", [[row.get("loss"), row.get("grad_norm")] for row in state["log_history"]])
tell_model(AutoModelForCausalLM.from_pretrained("out/checkpoint-2"))
