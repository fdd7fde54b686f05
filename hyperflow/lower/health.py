"""Health checks before training: an init container writes what it finds, the launch script ends with exit code 86."""

from typing import Any

from hyperflow.lower.environment import HEALTH_REPORT

HEALTH_EXIT_CODE = 86
HEALTH_VOLUME = "hyperflow-health"

_VENDOR_COMMANDS = {
    "nvidia.com": "nvidia-smi --query-gpu=index,name --format=csv",
    "amd.com": "rocm-smi --showid",
    "huawei.com": "npu-smi info",
}
_CHECKS = {
    "dcgm": "dcgmi diag -r 1",
    "nccl": 'all_reduce_perf -b 8M -e 8M -g "$HF_NPROC_PER_NODE" -c 1',
}


def health_container(health: str, image: str, resource: str, devices: int) -> dict[str, Any]:
    """Lower `smi` (the vendor's own tool), `dcgm`, `nccl`, or the name of an image that checks by its own command.

    A built-in check reports into a file, so that the pod ends with a code that a policy maps. An image of the user's
    fails the pod directly.
    """
    resources = {"requests": {resource: str(devices)}, "limits": {resource: str(devices)}}
    limits = {
        "securityContext": {"allowPrivilegeEscalation": False},
        "resources": resources,
        "volumeMounts": [{"name": HEALTH_VOLUME, "mountPath": HEALTH_REPORT.rsplit("/", 1)[0]}],
        "env": [{"name": "HF_NPROC_PER_NODE", "value": str(devices)}],
    }
    command = check_command(health, resource)
    if command is None:
        return {"name": "health", "image": health, **limits}
    script = f'{command} >/tmp/health 2>&1 || {{ tail -n 40 /tmp/health; echo "failed: {health}"; }} >{HEALTH_REPORT}'
    return {"name": "health", "image": image, "command": ["/bin/sh", "-c", script.replace("$", "$$")], **limits}


def check_command(health: str, resource: str) -> str | None:
    """The command of a built-in check; None when `health` is the name of an image."""
    if health in ("smi", "nvidia-smi", "rocm-smi", "npu-smi"):
        return _VENDOR_COMMANDS.get(resource.split("/")[0], _VENDOR_COMMANDS["nvidia.com"])
    return _CHECKS.get(health)
