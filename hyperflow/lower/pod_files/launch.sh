#!/bin/sh
# Starts this node's share of the training. All values come from the environment and from the arguments.
# Exit codes: 75 the peers did not come in time, 78 the pod is set up wrongly, 86 the health check found a fault.
set -eu

fail() {
    printf 'hyperflow: %s\n' "$2" >&2
    exit "$1"
}

python=${HF_PYTHON:-python3}
command -v "$python" >/dev/null 2>&1 || fail 78 "no $python in this image; set HF_PYTHON"
[ -n "${VC_TASK_INDEX:-}" ] || fail 78 "VC_TASK_INDEX is not set; Volcano's env plugin must be on"

if [ -n "${HF_HEALTH_REPORT:-}" ] && [ -s "$HF_HEALTH_REPORT" ]; then
    cat "$HF_HEALTH_REPORT" >&2
    fail 86 "the health check found a fault on node ${HF_NODE_NAME:-unknown}"
fi

HF_NODE_RANK=$((HF_NODE_RANK_OFFSET + VC_TASK_INDEX))
export HF_NODE_RANK
printf 'hyperflow: node rank %s of %s, cluster %s\n' "$HF_NODE_RANK" "$HF_NNODES" "$HF_CLUSTER" >&2

"$python" "$HF_LAUNCH_DIR/start_barrier.py"

# The timeout ends this node when a peer is lost between the barrier and here, before the others give up at theirs.
exec "$python" -m torch.distributed.run \
    --nnodes "$HF_NNODES" --nproc_per_node "$HF_NPROC_PER_NODE" --node_rank "$HF_NODE_RANK" \
    --master_addr "$MASTER_ADDR" --master_port "$MASTER_PORT" --max_restarts 0 \
    --rdzv_conf "timeout=$HF_COMM_TIMEOUT_SECONDS" \
    "$@"
