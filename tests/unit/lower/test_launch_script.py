"""The launch script as a pod runs it, with stand-ins for python and the barrier; user values stay whole."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import hyperflow.lower
from hyperflow.lower.lower_job import lower
from hyperflow.spec.launch import FunctionLaunch, TorchrunLaunch
from hyperflow.spec.training_job import Environment
from tests.manifest_cases import two_cities

POD_FILES = Path(hyperflow.lower.__file__).with_name("pod_files")
NASTY = ["a b", "$(HOME)", "$HOME", "`id`", "'", '"', "*", "a;id", "-x", "{{ x }}", "line\nbreak", "", "--", "😀"]


def container(case, child=0):
    """The training container of a child as the pod gets it: $$ is a dollar again."""
    job = lower(*case).objects[-1].spec.replicated_jobs[child].template_spec
    found = job.tasks[0].template.spec["containers"][0]
    env = {item["name"]: item["value"].replace("$$", "$") for item in found["env"] if "value" in item}
    return [argument.replace("$$", "$") for argument in (*found["command"], *found["args"])], env


def run(tmp_path, case, *, child=0, index="0", barrier="import sys; sys.exit(0)", **more):
    """Run a child's container with a python that prints its arguments as JSON."""
    command, env = container(case, child)
    launch = tmp_path / "launch"
    launch.mkdir(exist_ok=True)
    (launch / "launch.sh").write_text((POD_FILES / "launch.sh").read_text())
    (launch / "start_barrier.py").write_text(barrier)
    fake = tmp_path / "python3"
    fake.write_text(
        f"#!{sys.executable}\nimport json, os, runpy, sys\n"
        "if sys.argv[1].endswith('start_barrier.py'): runpy.run_path(sys.argv[1])\n"
        "else: print(json.dumps([sys.argv[1:], dict(os.environ)]))\n"
    )
    fake.chmod(0o755)
    env |= {"PATH": f"{tmp_path}:{os.environ['PATH']}", "HF_LAUNCH_DIR": str(launch), **more}
    env |= {"VC_TASK_INDEX": index} if index is not None else {}
    command[1] = str(launch / "launch.sh")
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=30)


def test_user_values_reach_the_script_unchanged(tmp_path):
    launch = TorchrunLaunch(script="train me.py", args=tuple(NASTY))
    nasty = {f"V{i}": value for i, value in enumerate(NASTY)}
    shown = run(tmp_path, two_cities(launch=launch, env=Environment(variables=nasty)), child=1)
    arguments, env = json.loads(shown.stdout)
    assert arguments[arguments.index("train me.py") + 1 :] == NASTY
    assert {name: env[name] for name in nasty} == nasty


def test_torchrun_gets_static_ranks_and_the_one_address(tmp_path):
    shown = run(tmp_path, two_cities(), child=1)
    arguments, env = json.loads(shown.stdout)
    start = arguments[: arguments.index("pretrain_gpt.py")]
    address = f"{env['HF_BUNDLE']}-rank0.default.svc"
    assert start == [
        *("-m", "torch.distributed.run", "--nnodes", "2", "--nproc_per_node", "8", "--node_rank", "1"),
        *("--master_addr", address, "--master_port", "29500", "--max_restarts", "0"),
        *("--rdzv_conf", f"timeout={env['HF_COMM_TIMEOUT_SECONDS']}"),
    ]
    # a peer lost after the barrier ends this node before the others give up at theirs
    assert int(env["HF_COMM_TIMEOUT_SECONDS"]) < int(env["HF_RENDEZVOUS_TIMEOUT_SECONDS"])
    assert env["HF_NODE_RANK"] == "1"
    assert shown.stderr == "hyperflow: node rank 1 of 2, cluster shanghai\n"


def test_barrier_that_gives_up_ends_the_pod_with_its_code(tmp_path):
    shown = run(tmp_path, two_cities(), barrier="import sys; sys.exit(75)")
    assert (shown.returncode, shown.stdout) == (75, "")


def test_wrong_set_up_is_told_with_its_code(tmp_path):
    shown = run(tmp_path, two_cities(), index=None)
    assert (shown.returncode, shown.stderr) == (
        78,
        "hyperflow: VC_TASK_INDEX is not set; Volcano's env plugin must be on\n",
    )
    shown = run(tmp_path, two_cities(), HF_PYTHON="python-that-is-not-there")
    assert (shown.returncode, shown.stderr) == (
        78,
        "hyperflow: no python-that-is-not-there in this image; set HF_PYTHON\n",
    )


def test_h3_failed_health_check_ends_the_pod_with_a_mapped_code(tmp_path):
    report = tmp_path / "report"
    report.write_text("failed: smi\n")
    shown = run(tmp_path, two_cities(), HF_HEALTH_REPORT=str(report), HF_NODE_NAME="n7")
    assert (shown.returncode, shown.stderr) == (
        86,
        "failed: smi\nhyperflow: the health check found a fault on node n7\n",
    )


def test_launch_script_is_small_and_shellcheck_clean():
    script = POD_FILES / "launch.sh"
    assert len(script.read_text().splitlines()) <= 40
    if shutil.which("shellcheck") is None:
        pytest.skip("shellcheck is not installed: the launch script was not linted")
    shown = subprocess.run(["shellcheck", "-s", "sh", str(script)], capture_output=True, text=True)
    assert shown.stdout == ""


def test_packed_function_runs_with_its_arguments(tmp_path):
    source = "def train(lr, name):\n    print(lr, name)\n"
    launch = FunctionLaunch(name="train", source=source, arguments={"lr": 0.1, "name": "a'b"})
    config = next(item for item in lower(*two_cities(launch=launch)).objects if item.kind_name == "ConfigMap")
    for name, text in config.data.items():
        (tmp_path / name).write_text(text)
    command = [sys.executable, str(tmp_path / "run_function.py")]
    shown = subprocess.run(command, env={"HF_LAUNCH_DIR": str(tmp_path)}, capture_output=True, text=True)
    assert (shown.returncode, shown.stdout) == (0, "0.1 a'b\n")
    (tmp_path / "packed_function.py").write_text("x = 1\n")
    shown = subprocess.run(command, env={"HF_LAUNCH_DIR": str(tmp_path)}, capture_output=True, text=True)
    assert shown.stderr == "hyperflow: the packed source defines no function train\n"
