"""Children restart, end and are killed as Volcano's policies say; nothing is left running."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from hyperflow.errors import InputError, UsageError
from hyperflow.inventory.documents import Document
from hyperflow.run_local.delay_proxy import DelayProxy
from hyperflow.run_local.options import Kill, RunOptions, parse_delays, parse_kills
from hyperflow.run_local.pods import read_local_bundle
from hyperflow.run_local.run_bundle import run_bundle


def documents(*values):
    return [Document(file="bundle/x.yaml", index=i, value=value) for i, value in enumerate(values)]


RESTART = [{"action": "RestartJob", "event": "PodFailed"}]


def bundle(*children, policies=RESTART, retries=2, replicas=1, files=None):
    """A HyperJob with one child per (cluster, shell script)."""
    replicated = []
    for cluster, script in children:
        mounts = [{"name": "shared", "mountPath": "/shared"}, {"name": "files", "mountPath": "/files"}]
        container = {"name": "main", "command": ["/bin/sh", "-c"], "args": [script], "volumeMounts": mounts}
        volumes = [
            {"name": "shared", "persistentVolumeClaim": {"claimName": "claim"}},
            {"name": "files", "configMap": {"name": "files"}},
        ]
        template = {"spec": {"containers": [container], "volumes": volumes}}
        spec = {
            "plugins": {"env": [], "svc": []},
            "maxRetry": retries,
            "policies": policies,
            "tasks": [{"name": "node", "replicas": replicas, "template": template}],
        }
        replicated.append({"name": cluster, "clusterNames": [cluster], "replicas": 1, "templateSpec": spec})
    hyperjob = {
        "kind": "HyperJob",
        "metadata": {"name": "toy", "labels": {"hyperflow.io/job": "toy"}},
        "spec": {"replicatedJobs": replicated},
    }
    config = {"kind": "ConfigMap", "metadata": {"name": "files"}, "data": files or {"hello.txt": "hello"}}
    return read_local_bundle(documents(config, hyperjob))


def hyperjob(command):
    """A HyperJob of one pod on north that runs the command."""
    task = {"name": "n", "template": {"spec": {"containers": [{"name": "m", "command": command}]}}}
    jobs = [{"name": "north", "templateSpec": {"tasks": [task]}}]
    return {"kind": "HyperJob", "metadata": {"name": "toy"}, "spec": {"replicatedJobs": jobs}}


@pytest.fixture
def run(tmp_path):
    lines = []

    def call(what, **options):
        lines.clear()
        root = tmp_path / "run"
        settings = {"work_dir": tmp_path, "timeout_seconds": 30.0, **options}
        return run_bundle(what, RunOptions(**settings), root, lines.append), lines

    return call


def test_a_job_whose_pods_all_end_well_is_completed(run):
    result, lines = run(
        bundle(("north", "cat /files/hello.txt; echo; echo I am $VC_TASK_INDEX"), ("south", "true"), replicas=2)
    )
    assert result.state == "COMPLETED"
    assert [child.phase for child in result.children] == ["Completed", "Completed"]
    assert {"[north/0] hello", "[north/1] hello", "[north/0] I am 0", "[north/1] I am 1"} <= set(lines)


def test_a_log_holds_all_restarts_of_one_run_and_nothing_of_the_run_before(run):
    for _ in range(2):
        result, _ = run(bundle(("north", "echo here; exit 1"), retries=1))
        assert Path(result.children[0].pods[0].log).read_text() == "here\nhere\n"


def test_a_failing_pod_restarts_its_child_at_most_max_retry_times(run):
    result, lines = run(bundle(("north", "exit 3"), ("south", "true"), retries=2))
    north, south = result.children
    assert (north.phase, north.retries, north.reason) == (
        "Failed",
        2,
        "toy-north-0-node-0 ended with exit code 3 after 2 restarts",
    )
    assert (south.phase, result.state) == ("Completed", "FAILED")
    assert lines.count("toy-north-0: restart 2 of 2") == 1


def test_an_exit_code_policy_before_the_event_ends_the_child_at_once(run):
    policies = [{"action": "TerminateJob", "exitCode": 78}, *RESTART]
    result, _ = run(bundle(("north", "exit 78"), policies=policies))
    assert (result.children[0].phase, result.children[0].retries) == ("Terminated", 0)


def test_without_a_policy_the_other_pods_run_to_their_end(run):
    script = 'if [ "$VC_TASK_INDEX" = 0 ]; then exit 1; fi; echo done > /shared/done-$VC_TASK_INDEX'
    result, _ = run(bundle(("north", script), policies=[], replicas=2))
    assert (result.children[0].phase, result.children[0].reason) == ("Failed", "1 of 2 pods failed")
    assert {pod.exit_code for pod in result.children[0].pods} == {0, 1}


def test_a_killed_pod_restarts_its_child_which_then_completes(run):
    script = "if [ -e /shared/second ]; then exit 0; fi; touch /shared/second; sleep 60"
    result, lines = run(bundle(("north", script)), kills=(Kill(cluster="north", index=0, seconds=1.0),))
    assert (result.state, result.children[0].retries) == ("COMPLETED", 1)
    assert "killed north/0" in lines
    assert "toy-north-0-node-0 ended with exit code 137; policy: RestartJob" in lines


def test_a_pod_that_comes_late_is_killed_when_it_is_up(run):
    script = "if [ -e /shared/second ]; then exit 0; fi; touch /shared/second; sleep 60"
    late = {"start_spread_seconds": 2.0, "seed": 1}
    result, lines = run(bundle(("north", script)), kills=(Kill(cluster="north", index=0, seconds=0.0),), **late)
    assert (result.state, result.children[0].retries, lines.count("killed north/0")) == ("COMPLETED", 1, 1)


def test_a_pod_whose_child_has_ended_cannot_be_killed_and_that_is_said(run):
    kill = Kill(cluster="north", index=0, seconds=1.0)
    result, lines = run(bundle(("north", "true"), ("south", "sleep 2")), kills=(kill,))
    assert result.state == "COMPLETED" and "nothing to kill at north/0" in lines


def test_ports_of_the_pods_are_told_and_free_again_at_the_end(run):
    document = {"kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [{"port": 29500}]}}
    child = hyperjob(["sh", "-c", "true"])
    _, lines = run(read_local_bundle(documents(document, child)))
    (line,) = [line for line in lines if line.startswith("port ")]
    assert line.startswith("port 29500 of the pods is 127.0.0.1:")
    socket.create_server(("127.0.0.1", int(line.split(":")[1].split()[0]))).close()


def test_init_containers_run_first_and_their_failure_is_the_pods(run, tmp_path):
    document = {
        "kind": "HyperJob",
        "metadata": {"name": "toy"},
        "spec": {
            "replicatedJobs": [
                {
                    "name": "north",
                    "templateSpec": {
                        "policies": [{"action": "AbortJob", "exitCode": 86}],
                        "tasks": [
                            {
                                "name": "node",
                                "template": {
                                    "spec": {
                                        "initContainers": [{"name": "health", "command": ["sh", "-c", "exit 86"]}],
                                        "containers": [{"name": "main", "command": ["sh", "-c", "echo main"]}],
                                    }
                                },
                            }
                        ],
                    },
                }
            ]
        },
    }
    with_health = read_local_bundle(documents(document))
    result, lines = run(with_health)
    assert result.children[0].phase == "Aborted"
    assert "[north/0] main" not in lines
    skipped, lines = run(with_health, run_init_containers=False)
    assert skipped.state == "COMPLETED" and "[north/0] main" in lines


def test_a_command_that_does_not_exist_is_exit_code_127(run):
    result, lines = run(read_local_bundle(documents(hyperjob(["/no/such"]))))
    assert result.children[0].pods[0].exit_code == 127
    assert "[north/0] cannot start /no/such: No such file or directory" in lines


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def test_a_run_that_times_out_leaves_no_process_behind(run, tmp_path):
    script = "setsid sleep 300 & echo $! > /shared/grandchild; echo $$$$ > /shared/child; sleep 300"
    result, _ = run(bundle(("north", script)), timeout_seconds=1.5)
    assert result.children[0].reason == "not done after 1.5 s"
    assert ended(tmp_path, "child", "grandchild")


def ended(tmp_path, *names):
    """Whether the processes of these pid files have ended, given a moment."""
    pids = [int((tmp_path / "run" / "volumes" / "shared" / name).read_text()) for name in names]
    deadline = time.monotonic() + 5
    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not any(map(alive, pids))


def test_workers_of_a_pod_whose_first_process_died_end_with_it(run, tmp_path):
    script = "setsid sleep 300 & echo $! > /shared/worker; sleep 0.5; kill -9 $$$$"
    result, _ = run(bundle(("north", script), policies=[]))
    assert [pod.exit_code for pod in result.children[0].pods] == [137]
    assert ended(tmp_path, "worker")


STUBBORN = """
trap '' TERM INT HUP
(setsid sleep 300 & echo $! > /shared/daemon)
echo $$$$ > /shared/child
echo up
while true; do sleep 1; done
"""

RUNNER = """
import json, signal, sys
from pathlib import Path
from hyperflow.inventory.documents import Document
from hyperflow.run_local.options import RunOptions
from hyperflow.run_local.pods import read_local_bundle
from hyperflow.run_local.run_bundle import run_bundle

signal.signal(int(sys.argv[3]), signal.SIG_IGN if sys.argv[4:] else signal.SIG_DFL)  # not what the tests inherit
bundle = read_local_bundle([Document(file="x.yaml", index=0, value=json.loads(sys.argv[1]))])
root = Path(sys.argv[2])
run_bundle(bundle, RunOptions(work_dir=root), root / "run", lambda line: print(line, flush=True))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_ends_even_processes_that_ignore_it_or_left_their_parent(tmp_path, number):
    job = hyperjob(["sh", "-c", STUBBORN])
    pod = job["spec"]["replicatedJobs"][0]["templateSpec"]["tasks"][0]["template"]["spec"]
    pod["volumes"] = [{"name": "shared", "emptyDir": {}}]
    pod["containers"][0] |= {"volumeMounts": [{"name": "shared", "mountPath": "/shared"}]}
    pod["containers"][0]["command"][2] = STUBBORN.replace("/shared", str(tmp_path / "run" / "volumes" / "shared"))
    runner = subprocess.Popen(
        [sys.executable, "-c", RUNNER, json.dumps(job), tmp_path, str(int(number))], stdout=subprocess.PIPE, text=True
    )
    for line in runner.stdout:
        if line.endswith("up\n"):
            break
    runner.send_signal(number)
    rest, _ = runner.communicate(timeout=30)
    assert "Traceback" not in rest
    assert runner.returncode == -number
    assert ended(tmp_path, "child", "daemon")


def test_a_closed_terminal_that_the_caller_ignores_ends_nothing(tmp_path):
    """So that `nohup hyperflow run-local` outlives its terminal."""
    job = hyperjob(["sh", "-c", "echo up; sleep 1; echo done"])
    hangup = str(int(signal.SIGHUP))
    runner = subprocess.Popen(
        [sys.executable, "-c", RUNNER, json.dumps(job), tmp_path, hangup, "ignored"], stdout=subprocess.PIPE, text=True
    )
    for line in runner.stdout:
        if line.endswith("up\n"):
            break
    runner.send_signal(signal.SIGHUP)
    rest, _ = runner.communicate(timeout=30)
    assert runner.returncode == 0
    assert "done\n" in rest


def test_a_job_too_large_for_the_limit_is_refused_before_anything_starts(run, tmp_path):
    with pytest.raises(InputError) as caught:
        run(bundle(("north", "touch /shared/started"), replicas=3), max_processes=2)
    assert str(caught.value) == (
        "error[HF452] the bundle starts 3 training processes on this machine\n"
        "  --> run-local\n"
        "  got 3 processes, expected at most 2\n"
        "  hint: compile it for a smaller fleet, or raise --max-processes"
    )
    assert not (tmp_path / "run").exists()


def test_options_that_cannot_be_read_are_usage_errors():
    pods = [("north", 0), ("south", 0), ("south", 1)]
    assert parse_kills(["south/1@2.5", "north/0@5s"], pods) == (
        Kill(cluster="south", index=1, seconds=2.5),
        Kill(cluster="north", index=0, seconds=5.0),
    )
    for wrong in ("south@1", "nowhere/0@5s", "north/1@5", "north/0@-5", "north/0@soon"):
        with pytest.raises(UsageError) as caught:
            parse_kills([wrong], pods)
        assert str(caught.value) == (
            f"error[HF453] cannot use --kill {wrong}\n"
            "  --> --kill\n"
            f"  got {wrong}, expected CLUSTER/INDEX@SECONDS with a pod of the bundle (north/0, south/0, south/1)\n"
            "  hint: write --kill north/0@5"
        )
    (delay,) = parse_delays(["a-b-c=5ms"], ["a-b", "c"])
    assert delay.clusters == {"a-b", "c"} and delay.one_way_seconds == 0.005
    for wrong in ("nonsense", "north-west=5ms", "north-south=5", "north-south=-5ms", "north-north=5ms", "=5ms"):
        with pytest.raises(UsageError) as caught:
            parse_delays([wrong], ["north", "south"])
        assert str(caught.value) == (
            f"error[HF453] cannot use --delay {wrong}\n"
            "  --> --delay\n"
            f"  got {wrong}, expected A-B=25ms, each pair once, with clusters of the bundle (north, south)\n"
            "  hint: write --delay north-south=25ms"
        )
    with pytest.raises(UsageError):
        parse_delays(["north-south=5ms", "south-north=7ms"], ["north", "south"])


def test_a_folder_without_the_script_is_refused_before_anything_starts(run, tmp_path):
    launch = ["sh", "/hyperflow/launch/launch.sh", "train.py", "--steps", "20"]
    with pytest.raises(InputError) as caught:
        run(read_local_bundle(documents(hyperjob(launch))))
    assert str(caught.value) == (
        f"error[HF454] train.py is not in {tmp_path}\n"
        "  --> --workdir\n"
        f"  got {tmp_path}, expected the folder that holds train.py\n"
        "  hint: commands start in --workdir DIR, which stands for the working folder of the image"
    )
    with pytest.raises(InputError, match=rf"HF454\] {tmp_path}/none is no folder"):
        run(read_local_bundle(documents(hyperjob(launch))), work_dir=tmp_path / "none")


def test_a_run_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    options = RunOptions(work_dir=tmp_path)
    with pytest.raises(InputError) as caught:
        run_bundle(read_local_bundle(documents(hyperjob(["true"]))), options, tmp_path / "file" / "run", print)
    assert str(caught.value) == (
        f"error[HF454] logs cannot be written to {tmp_path}/file/run: Not a directory\n"
        "  --> --run-dir\n"
        f"  got {tmp_path}/file/run, expected a folder that can be made or written to\n"
        "  hint: give another one with --run-dir"
    )


def test_the_proxy_holds_bytes_back_both_ways_and_loses_none():
    server = socket.create_server(("127.0.0.1", 0))

    def echo():
        peer, _ = server.accept()
        with peer:
            while chunk := peer.recv(65536):
                peer.sendall(chunk)

    threading.Thread(target=echo, daemon=True).start()
    proxy = DelayProxy(server.getsockname()[1], 0.1)
    proxy.start()
    payload = os.urandom(300_000)
    with socket.create_connection(("127.0.0.1", proxy.port)) as client:
        start = time.monotonic()
        client.sendall(payload)
        got = b""
        while len(got) < len(payload):
            got += client.recv(65536)
        took = time.monotonic() - start
    proxy.stop()
    server.close()
    assert got == payload
    assert took >= 0.2
