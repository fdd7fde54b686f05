"""Children restart, end and are killed as Volcano's policies say; nothing is left running."""

import os
import signal
import socket
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
    pids = [int((tmp_path / "run" / "volumes" / "shared" / name).read_text()) for name in ("child", "grandchild")]
    deadline = time.monotonic() + 5
    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(alive, pids))


def test_an_interrupt_leaves_no_process_behind(tmp_path):
    what = bundle(("north", "echo $$$$ > /shared/child; echo up; sleep 300"))

    def interrupted(line):
        if line.endswith("up"):
            raise_in_main.set()

    raise_in_main = threading.Event()
    main = threading.main_thread()

    def interrupt():
        raise_in_main.wait(20)
        signal.pthread_kill(main.ident, signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        run_bundle(what, RunOptions(work_dir=tmp_path, timeout_seconds=30.0), tmp_path / "run", interrupted)
    assert not alive(int((tmp_path / "run" / "volumes" / "shared" / "child").read_text()))


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
    assert parse_kills(["south/1@2.5"]) == (Kill(cluster="south", index=1, seconds=2.5),)
    with pytest.raises(UsageError) as caught:
        parse_kills(["south@1"])
    assert str(caught.value) == (
        "error[HF453] cannot read --kill south@1\n"
        "  --> --kill\n"
        "  got south@1, expected CLUSTER/INDEX@SECONDS, such as shanghai/0@5\n"
        "  hint: write --kill CLUSTER/INDEX@SECONDS"
    )
    with pytest.raises(UsageError):
        parse_delays(["north-west=5ms"], ["north", "south"])
    (delay,) = parse_delays(["a-b-c=5ms"], ["a-b", "c"])
    assert delay.clusters == {"a-b", "c"} and delay.one_way_seconds == 0.005


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
