"""One pod on this machine: init containers one after the other, then its containers together."""

from collections.abc import Callable, Mapping
from pathlib import Path

from hyperflow.run_local.addresses import command_of, environment_of, make_folders, mounted
from hyperflow.run_local.links import Place
from hyperflow.run_local.pods import Container, Pod
from hyperflow.run_local.processes import PodProcess

NOT_FOUND = 127


class RunningPod:
    """A pod that is started, polled and stopped by the controller of its child."""

    def __init__(
        self,
        pod: Pod,
        place: Place,
        root: Path,
        work_dir: Path,
        inherited: Mapping[str, str],
        say: Callable[[str], None],
        *,
        with_init: bool,
    ) -> None:
        self.pod = pod
        self.log = root / "logs" / f"{pod.name}.log"
        self.exit_code: int | None = None
        self._place, self._work_dir, self._inherited, self._say = place, work_dir, inherited, say
        self._folders = make_folders(pod, root / "pods" / pod.name, root / "volumes")
        self._waiting = list(pod.init_containers) if with_init else []
        self._running: list[PodProcess] = []
        self._main_started = False
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.log.open("a", encoding="utf-8")

    def poll(self) -> int | None:
        """Start what is due, and give the pod's exit code once it has ended."""
        if self.exit_code is not None:
            return self.exit_code
        codes = [process.exit_code for process in self._running]
        failed = next((code for code in codes if code), None)
        if failed is not None:
            self._end(failed)
        elif all(code == 0 for code in codes):
            if self._waiting:
                self._running = self._start([self._waiting.pop(0)])
            elif not self._main_started:
                self._main_started = True
                self._running = self._start(list(self.pod.containers))
            else:
                self._end(0)
        return self.exit_code

    def _start(self, containers: list[Container]) -> list[PodProcess]:
        return [process for container in containers if (process := self._spawn(container)) is not None]

    def _spawn(self, container: Container) -> PodProcess | None:
        folders = mounted(container, self._folders)
        addresses, network = self._place.addresses, self._place.namespace
        command = command_of(container, addresses, folders)
        inherited = {**self._inherited, **(network.variables() if network else {})}
        environment = environment_of(container, addresses, folders, inherited)
        inside = self._work_dir / container.working_dir.lstrip("/")
        try:
            return PodProcess(
                network.entered(command) if network else command,
                environment,
                inside if inside.is_dir() else self._work_dir,
                self._line,
                files=network.files if network else (),
            )
        except OSError as error:
            self._line(f"cannot start {command[0] if command else 'a container without a command'}: {error.strerror}")
            self._end(NOT_FOUND)
            return None

    def _line(self, line: str) -> None:
        self._file.write(line + "\n")
        self._file.flush()
        self._say(f"[{self.pod.cluster}/{self.pod.index}] {line}")

    def _end(self, code: int) -> None:
        for process in self._running:
            process.stop()
        self.exit_code = code
        self._file.close()

    def kill(self) -> None:
        """Lose the pod, as a node failure would."""
        for process in self._running:
            process.kill()

    def stop(self) -> None:
        """End the pod; its exit code stays None when it was still running."""
        for process in self._running:
            process.stop()
        self._running = []
        if not self._file.closed:
            self._file.close()
