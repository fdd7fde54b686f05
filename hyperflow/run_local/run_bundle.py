"""Running a compiled bundle on this machine: every pod as processes on the loopback, on the CPU."""

import contextlib
import itertools
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping
from pathlib import Path

from hyperflow.errors import Finding, InputError
from hyperflow.run_local.addresses import LOOPBACK, Addresses, choose_ports
from hyperflow.run_local.child_controller import FINAL, ChildController
from hyperflow.run_local.delay_proxy import DelayProxy
from hyperflow.run_local.options import Delay, RunOptions, RunResult
from hyperflow.run_local.pods import Child, LocalBundle, Pod, Service
from hyperflow.run_local.running_pod import RunningPod

TICK_SECONDS = 0.05
_INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV", "PYTHONPATH")


def run_bundle(bundle: LocalBundle, options: RunOptions, root: Path, say: Callable[[str], None]) -> RunResult:
    """Run all children until they end; `root` takes logs and volumes, `say` gets every line.

    Raises InputError (HF452) when the job is too large for the limits. An interrupt stops every process first.
    """
    _check_size(bundle, options.max_processes)
    ports = choose_ports(bundle)
    proxies = _start_proxies(bundle, options.delays, ports)
    chance = random.Random(options.seed)
    inherited = _inherited()

    def starter(child: Child) -> Callable[[Pod], RunningPod]:
        addresses = Addresses(ports=_ports_for(child, ports, proxies), hosts=_hosts(bundle))
        return lambda pod: RunningPod(
            pod, addresses, root, options.work_dir, inherited, say, with_init=options.run_init_containers
        )

    children = [
        ChildController(child, starter(child), say, random.Random(chance.random()), options.start_spread_seconds)
        for child in bundle.children
    ]
    chance.shuffle(order := list(children))
    with interrupts_held() as interrupted:
        try:
            _drive(order, options, say, interrupted)
        finally:
            for controller in children:
                controller.stop()
            for proxy in proxies.values():
                proxy.stop()
    results = tuple(controller.result() for controller in children)
    done = all(result.phase == "Completed" for result in results)
    return RunResult(job=bundle.job, state="COMPLETED" if done else "FAILED", children=results)


@contextlib.contextmanager
def interrupts_held() -> Generator[threading.Event]:
    """Turn Ctrl-C into an event that is looked at between ticks.

    An interrupt in the middle of starting a process would lose it; in the middle of ending one it would leave it.
    """
    event = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield event
        return
    before = signal.signal(signal.SIGINT, lambda _number, _frame: event.set())
    try:
        yield event
    finally:
        signal.signal(signal.SIGINT, before)


def _drive(
    children: list[ChildController], options: RunOptions, say: Callable[[str], None], interrupted: threading.Event
) -> None:
    start = time.monotonic()
    kills = sorted(options.kills, key=lambda kill: kill.seconds)
    while any(child.phase not in FINAL for child in children):
        if interrupted.is_set():
            raise KeyboardInterrupt
        now = time.monotonic()
        if now - start > options.timeout_seconds:
            for child in children:
                if child.phase not in FINAL:
                    child.stop()
                    child.phase, child.reason = "Failed", f"not done after {options.timeout_seconds:g} s"
            return
        while kills and now - start >= kills[0].seconds:
            kill = kills.pop(0)
            hit = [c for c in children if c.child.cluster == kill.cluster and c.kill(kill.index)]
            say(f"killed {kill.cluster}/{kill.index}" if hit else f"nothing to kill at {kill.cluster}/{kill.index}")
        for child in children:
            child.tick(now)
        time.sleep(TICK_SECONDS)


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


def _start_proxies(
    bundle: LocalBundle, delays: tuple[Delay, ...], ports: Mapping[int, int]
) -> dict[tuple[str, int], DelayProxy]:
    """A proxy for each (cluster that calls, Service port) whose pods stand behind a delayed link."""
    proxies: dict[tuple[str, int], DelayProxy] = {}
    clusters = {child.cluster for child in bundle.children}
    for service, caller in itertools.product(bundle.services, sorted(clusters)):
        provider = _provider(bundle, service)
        delay = next((d for d in delays if provider and d.clusters == frozenset((caller, provider))), None)
        for port in service.ports if delay else ():
            assert delay is not None
            proxy = DelayProxy(ports[port], delay.one_way_seconds)
            proxy.start()
            proxies[(caller, port)] = proxy
    return proxies


def _provider(bundle: LocalBundle, service: Service) -> str | None:
    """The cluster of the pods that a Service selects."""
    wanted = set(service.selector)
    return next(
        (child.cluster for child in bundle.children for pod in child.pods if wanted <= set(pod.labels)),
        None,
    )


def _ports_for(child: Child, ports: Mapping[int, int], proxies: Mapping[tuple[str, int], DelayProxy]) -> dict[int, int]:
    delayed = {port: proxy.port for (caller, port), proxy in proxies.items() if caller == child.cluster}
    return {**ports, **delayed}


def _hosts(bundle: LocalBundle) -> dict[str, str]:
    return {host: LOOPBACK for service in bundle.services for host in service.hosts}
