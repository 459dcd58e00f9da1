#!/bin/bash
# accelerate on one node: what it starts inherits hotfix from the command.
set -euo pipefail
export HOTFIX_RECORD=${HOTFIX_RECORD:-$PWD/records}
exec hotfix run -- accelerate launch --num_processes "${PER_NODE:-8}" "${SCRIPT:-train.py}"
