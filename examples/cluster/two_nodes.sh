#!/bin/bash
# torchrun over two nodes. On each of them: NODE_RANK=0 MASTER_ADDR=first-node ./two_nodes.sh (1 on the other one).
set -euo pipefail
export HOTFIX_RECORD=${HOTFIX_RECORD:-$PWD/records}
exec hotfix run -- torchrun --nnodes 2 --nproc-per-node "${PER_NODE:-1}" --node-rank "$NODE_RANK" \
    --master-addr "${MASTER_ADDR:-localhost}" --master-port "${MASTER_PORT:-29500}" "${SCRIPT:-train.py}"
