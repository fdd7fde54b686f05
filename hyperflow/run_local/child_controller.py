"""What Volcano's job controller does with one child: restart, terminate or complete by its policies."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from hyperflow.run_local.options import ChildResult, PodResult
from hyperflow.run_local.pods import Child, Pod, Policy
from hyperflow.run_local.running_pod import RunningPod

FINAL = ("Completed", "Failed", "Terminated", "Aborted")
_ENDINGS = {"TerminateJob": "Terminated", "AbortJob": "Aborted", "CompleteJob": "Completed"}


@dataclass(slots=True)
class ChildController:
    """One child under way. `start_pod` makes a running pod; `spread` draws when each pod of an attempt starts."""

    child: Child
    start_pod: Callable[[Pod], RunningPod]
    say: Callable[[str], None]
    chance: random.Random
    spread_seconds: float
    phase: str = "Pending"
    reason: str = ""
    retries: int = 0
    _due: dict[str, float] = field(default_factory=dict[str, float])
    _pods: dict[str, RunningPod] = field(default_factory=dict[str, RunningPod])
    _handled: set[str] = field(default_factory=set[str])

    def tick(self, now: float) -> None:
        """Start pods that are due, see which ended, and act on it."""
        if self.phase in FINAL:
            return
        if self.phase == "Pending":
            self._due = {pod.name: now + self.chance.uniform(0, self.spread_seconds) for pod in self.child.pods}
            self.phase = "Running"
        for pod in self.child.pods:
            if pod.name not in self._pods and now >= self._due[pod.name]:
                self._pods[pod.name] = self.start_pod(pod)
        for name, running in list(self._pods.items()):
            code = running.poll()
            if code is not None and code != 0 and name not in self._handled:
                self._handled.add(name)
                self._on_failure(running.pod, code)
                if self.phase != "Running":
                    return
        self._finish_when_all_ended()

    def _finish_when_all_ended(self) -> None:
        codes = [running.exit_code for running in self._pods.values()]
        if len(codes) < len(self.child.pods) or None in codes:
            return
        failed = sum(1 for code in codes if code)
        self._end("Failed" if failed else "Completed", f"{failed} of {len(codes)} pods failed" if failed else "")

    def _on_failure(self, pod: Pod, code: int) -> None:
        policy = self._policy_for(code)
        action = policy.action if policy else "none"
        self.say(f"{pod.name} ended with exit code {code}; policy: {action}")
        if action in ("RestartJob", "RestartTask", "RestartPod", "RestartPartition"):
            self._restart(pod, action, code)
        elif action in _ENDINGS:
            self._end(_ENDINGS[action], f"{pod.name} ended with exit code {code}")

    def _policy_for(self, code: int) -> Policy | None:
        """The first that matches wins; exit codes stand beside events in the same list."""
        for policy in self.child.policies:
            if policy.exit_code == code or "PodFailed" in policy.events or "*" in policy.events:
                return policy
        return None

    def _restart(self, pod: Pod, action: str, code: int) -> None:
        if self.retries >= self.child.max_retry:
            self._end("Failed", f"{pod.name} ended with exit code {code} after {self.retries} restarts")
            return
        self.retries += 1
        names = [other.name for other in self.child.pods]
        if action != "RestartJob":
            names = [pod.name] if action == "RestartPod" else [p.name for p in self.child.pods if p.task == pod.task]
        self.say(f"{self.child.name}: restart {self.retries} of {self.child.max_retry}")
        for name in names:
            running = self._pods.pop(name, None)
            if running is not None:
                running.stop()
            self._handled.discard(name)
        if action == "RestartJob":
            self.phase = "Pending"
        self._due |= dict.fromkeys(names, 0.0)

    def _end(self, phase: str, reason: str) -> None:
        self.stop()
        self.phase, self.reason = phase, reason
        self.say(f"{self.child.name}: {phase}{f', {reason}' if reason else ''}")

    def stop(self) -> None:
        """End every pod of the child."""
        for running in self._pods.values():
            running.stop()

    def kill(self, index: int) -> bool:
        """Lose one pod; False when it is not running."""
        running = next((r for r in self._pods.values() if r.pod.index == index and r.exit_code is None), None)
        if running is not None:
            running.kill()
        return running is not None

    def result(self) -> ChildResult:
        """What there is to tell about the child."""
        pods = [PodResult(name=name, exit_code=r.exit_code, log=str(r.log)) for name, r in sorted(self._pods.items())]
        return ChildResult(
            name=self.child.name,
            cluster=self.child.cluster,
            phase=self.phase,
            retries=self.retries,
            reason=self.reason,
            pods=tuple(pods),
        )
