"""The seam between a step and the place where its job runs."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from hyperflow.errors import Finding, UsageError

FINAL = ("COMPLETED", "FAILED")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildState:
    """One part of the job as it is now."""

    name: str
    cluster: str
    phase: str
    running: int
    total: int
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What one look at the job shows; `state` is one of those that `hyperflow status` prints."""

    state: str
    reason: str = ""
    children: tuple[ChildState, ...] = ()
    restarts: int | None = None


class Backend(Protocol):
    """Where a compiled bundle runs. A job is known by its bundle's name, so that every call may be repeated."""

    def mode_for(self, mode: str, namespace: str) -> str:
        """Give the mode in which a job that was compiled in this one reaches its cluster from here."""
        ...

    def start(self, bundle: Path, name: str) -> bool:
        """Start the bundle in this folder, or take over the job that runs under its name (then True)."""
        ...

    def look(self) -> Observation:
        """Say what the job does now; new log lines of the first rank are printed on the way."""
        ...

    def logs(self) -> Iterable[Iterable[str]]:
        """Give the logs that may hold step times, by lines: the first rank's, then others as far as they are known."""
        ...

    def delete(self) -> None:
        """End the job and remove what belongs to it; quiet where it is gone already."""
        ...


class Place(Protocol):
    """All jobs of one backend, for a cleanup that knows the run and nothing else."""

    def jobs_with_label(self, label: str, value: str) -> list[str]:
        """Give the names of the jobs that are still there and carry the label."""
        ...

    def delete(self, name: str) -> None:
        """End and remove one of them."""
        ...


Say = Callable[[str], None]


def open_backend(target: str, context: str, work_dir: str, say: Say) -> Backend:
    """Give the backend that `target` names: `plane`, `local`, `local:DIR`; `context` is that of the kubeconfig.

    Raises UsageError (HF556) for any other.
    """
    kind, _, place = target.partition(":")
    if kind == "local":
        from hyperflow.kfp_steps.local_backend import LocalBackend, local_root

        return LocalBackend(local_root(place), Path(work_dir or "."), say)
    if target == "plane":
        from hyperflow.kfp_steps.plane_backend import PlaneBackend
        from hyperflow.submit.plane import connect

        return PlaneBackend(connect(context or None), say)
    raise _unknown(target)


def open_place(target: str, context: str, namespace: str) -> Place:
    """Give all jobs of a backend; on a plane those of one namespace. Raises UsageError (HF556) for an unknown one."""
    kind, _, place = target.partition(":")
    if kind == "local":
        from hyperflow.kfp_steps.local_backend import LocalPlace, local_root

        return LocalPlace(local_root(place))
    if target == "plane":
        from hyperflow.kfp_steps.plane_backend import PlanePlace
        from hyperflow.submit.plane import connect

        return PlanePlace(connect(context or None), namespace)
    raise _unknown(target)


def _unknown(target: str) -> UsageError:
    return UsageError(
        Finding(
            code="HF556",
            message=f"there is no backend {target!r}",
            where="backend",
            got=target,
            expected="plane, local or local:DIR",
            hint='backend="local" runs the job as processes of the step',
        )
    )
