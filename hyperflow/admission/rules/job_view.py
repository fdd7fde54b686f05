"""A vcjob's spec as the rules see it, whether it stands in a vcjob or in a template of another kind."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hyperflow.admission.problem import Path
from hyperflow.admission.state import ServerState
from hyperflow.admission.tables import Server
from hyperflow.json_tree import is_mapping, mapping, sequence, text

VALIDATE_JOB = "the webhook validatejob.volcano.sh"
MUTATE_JOB = "the webhook mutatejob.volcano.sh"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskView:
    """One task after mutation (`values`) and as it was written (`posted`)."""

    index: int
    name: str
    path: Path
    values: dict[str, Any]
    posted: dict[str, Any]

    @property
    def replicas(self) -> int:
        """How many pods the task has; absent counts as 0."""
        return whole(self.values.get("replicas"))

    @property
    def min_available(self) -> int:
        """How many pods the task needs, all of them when it does not say."""
        value = self.values.get("minAvailable")
        return self.replicas if value is None else whole(value)


@dataclass(frozen=True, kw_only=True)
class JobView:
    """A vcjob spec after mutation (`spec`) and as it was written (`posted`); `path` is where it stands."""

    name: str
    namespace: str
    path: Path
    spec: dict[str, Any]
    posted: dict[str, Any]
    server: Server
    state: ServerState

    @cached_property
    def tasks(self) -> list[TaskView]:
        """The tasks; what is no mapping counts as empty."""
        posted = sequence(self.posted.get("tasks"))
        return [
            TaskView(
                index=index,
                name=text(mapping(task).get("name")),
                path=(*self.path, "tasks", index),
                values=mapping(task),
                posted=mapping(posted[index]) if index < len(posted) else {},
            )
            for index, task in enumerate(sequence(self.spec.get("tasks")))
        ]

    def task(self, name: str) -> TaskView | None:
        """Give the task of a name."""
        return next((task for task in self.tasks if task.name == name), None)

    @cached_property
    def min_available(self) -> int:
        """How many pods the job needs; absent or 0 becomes the sum of the tasks'."""
        return whole(self.spec.get("minAvailable")) or sum(task.min_available for task in self.tasks)

    @property
    def plugins(self) -> dict[str, list[str]]:
        """The plugins with their arguments."""
        return {
            str(name): [str(argument) for argument in sequence(arguments)]
            for name, arguments in mapping(self.spec.get("plugins")).items()
        }

    def plugin_flag(self, plugin: str, flag: str, default: str) -> str:
        """Give the value of a plugin's `--flag=value` or `--flag value`."""
        arguments = self.plugins.get(plugin, [])
        value = default
        for index, argument in enumerate(arguments):
            name, equals, given = argument.lstrip("-").partition("=")
            if argument.startswith("-") and name == flag:
                value = given if equals else (arguments[index + 1] if index + 1 < len(arguments) else default)
        return value


def whole(value: object) -> int:
    """Give a whole number, 0 for what is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def entries(value: object) -> list[tuple[int, dict[str, Any]]]:
    """Give the mappings of a list with their index."""
    return [(index, item) for index, item in enumerate(sequence(value)) if is_mapping(item)]
