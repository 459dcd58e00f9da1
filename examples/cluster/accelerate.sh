#!/bin/bash
# accelerate on one node: what it starts inherits hotfix from the command.
set -euo pipefail
export HOTFIX_RECORD=${HOTFIX_RECORD:-$PWD/records}
exec hotfix run -- accelerate launch --multi_gpu --num_machines 1 --num_processes "${PER_NODE:-8}" \
    --main_process_port "${MASTER_PORT:-29500}" --mixed_precision no --dynamo_backend no "${SCRIPT:-train.py}"
