"""Running a compiled bundle on this machine: every pod as processes on the loopback, on the CPU."""

import contextlib
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator
from pathlib import Path
from types import FrameType

from hyperflow.errors import Finding, InputError
from hyperflow.run_local.addresses import LOOPBACK, choose_ports
from hyperflow.run_local.child_controller import FINAL, ChildController
from hyperflow.run_local.folder_checks import check_folders
from hyperflow.run_local.links import open_links
from hyperflow.run_local.options import ChildResult, Kill, RunOptions, RunResult
from hyperflow.run_local.pods import Child, LocalBundle, Pod
from hyperflow.run_local.running_pod import RunningPod

TICK_SECONDS = 0.05
_INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV", "PYTHONPATH")


def run_bundle(
    bundle: LocalBundle,
    options: RunOptions,
    root: Path,
    say: Callable[[str], None],
    watch: Callable[[tuple[ChildResult, ...]], None] = lambda _children: None,
) -> RunResult:
    """Run all children until they end; `root` takes logs and volumes, `say` gets every line.

    `watch` gets the children as they are whenever one of them has changed its phase.

    Raises InputError before anything starts: HF452 when the job is too large for the limits, HF454 for folders that
    are not as needed. An interrupt stops every process first.
    """
    _check_size(bundle, options.max_processes)
    check_folders(bundle, options.work_dir, root)
    for log in (root / "logs").glob("*.log"):  # of an earlier run; a restart of a pod goes on in its log
        log.unlink()
    ports = choose_ports(bundle)
    for port, local in ports.items():
        say(f"port {port} of the pods is {LOOPBACK}:{local} here")
    links = open_links(bundle, options.delays, ports, say)
    chance = random.Random(options.seed)
    inherited = _inherited()

    def starter(child: Child) -> Callable[[Pod], RunningPod]:
        place = links.place_of(child.cluster)
        return lambda pod: RunningPod(
            pod, place, root, options.work_dir, inherited, say, with_init=options.run_init_containers
        )

    children = [
        ChildController(child, starter(child), say, random.Random(chance.random()), options.start_spread_seconds)
        for child in bundle.children
    ]
    chance.shuffle(order := list(children))
    with interrupts_held() as interrupted:
        try:
            _drive(order, options, say, interrupted, lambda: watch(tuple(child.result() for child in children)))
        finally:
            for controller in children:
                controller.stop()
            links.close()
    results = tuple(controller.result() for controller in children)
    done = all(result.phase == "Completed" for result in results)
    return RunResult(job=bundle.job, state="COMPLETED" if done else "FAILED", children=results)


@contextlib.contextmanager
def interrupts_held() -> Generator[threading.Event]:
    """Turn Ctrl-C, SIGTERM and a closed terminal into an event that is looked at between ticks; it comes at the end.

    An interrupt in the middle of starting a process would lose it; in the middle of ending one it would leave it. What
    the caller ignores, as nohup does a closed terminal, stays ignored.
    """
    event = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield event
        return
    came: list[int] = []

    def hold(number: int, _frame: FrameType | None) -> None:
        came.append(number)
        event.set()

    heard = [n for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if signal.getsignal(n) != signal.SIG_IGN]
    before = {number: signal.signal(number, hold) for number in heard}
    try:
        yield event
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])


def _drive(
    children: list[ChildController],
    options: RunOptions,
    say: Callable[[str], None],
    interrupted: threading.Event,
    changed: Callable[[], None],
) -> None:
    start = time.monotonic()
    phases: list[str] = []
    kills = list(options.kills)
    while any(child.phase not in FINAL for child in children):
        if interrupted.is_set():
            return
        now = time.monotonic()
        if now - start > options.timeout_seconds:
            for child in children:
                if child.phase not in FINAL:
                    child.stop()
                    child.phase, child.reason = "Failed", f"not done after {options.timeout_seconds:g} s"
            return
        due = [kill for kill in kills if now - start >= kill.seconds]
        kills = [kill for kill in kills if kill not in due or not _kill(kill, children, say)]
        for child in children:
            child.tick(now)
        if phases != (phases := [child.phase for child in children]):
            changed()
        time.sleep(TICK_SECONDS)


def _kill(kill: Kill, children: list[ChildController], say: Callable[[str], None]) -> bool:
    """Kill the pod; False while it is not up yet."""
    there = [child for child in children if child.child.cluster == kill.cluster]
    hit = any(child.kill(kill.index) for child in there)
    if hit or all(child.phase in FINAL for child in there):
        say(f"{'killed' if hit else 'nothing to kill at'} {kill.cluster}/{kill.index}")
        return True
    return False


def _inherited() -> dict[str, str]:
    """The little that a pod gets of this machine's environment, and what keeps it on the CPU and the loopback."""
    kept = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    path = f"{Path(sys.executable).parent}{os.pathsep}{kept.get('PATH', os.defpath)}"
    return {
        **kept,
        "PATH": path,
        "HF_PYTHON": sys.executable,
        "CUDA_VISIBLE_DEVICES": "",
        "GLOO_SOCKET_IFNAME": "lo",
        "TP_SOCKET_IFNAME": "lo",
        "OMP_NUM_THREADS": "1",
        "PYTHONUNBUFFERED": "1",
    }


def _check_size(bundle: LocalBundle, limit: int) -> None:
    wanted = sum(_processes_of(pod) for child in bundle.children for pod in child.pods)
    if wanted > limit:
        raise InputError(
            Finding(
                code="HF452",
                message=f"the bundle starts {wanted} training processes on this machine",
                where="run-local",
                got=f"{wanted} processes",
                expected=f"at most {limit}",
                hint="compile it for a smaller fleet, or raise --max-processes",
            )
        )


def _processes_of(pod: Pod) -> int:
    environment = dict(pod.containers[0].environment) if pod.containers else {}
    count = environment.get("HF_NPROC_PER_NODE", "1")
    return int(count) if count.isdigit() else 1
