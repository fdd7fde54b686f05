"""`@hf.job` and the object it makes: it plans, explains, compiles and submits, and shows its plan in a notebook."""

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hyperflow.compiler import Compilation, CompileOptions, compile_job
from hyperflow.dsl.assemble import assemble
from hyperflow.dsl.draft import ATTRIBUTE, UNSET, Draft, collect, draft_of
from hyperflow.dsl.overrides import apply_overrides
from hyperflow.dsl.positions import definition_place
from hyperflow.dsl.public_call import public
from hyperflow.errors import Finding, HyperFlowError
from hyperflow.inventory.bundle_files import write_bundle
from hyperflow.ir.plan import Plan
from hyperflow.report.explain_text import explain_lines
from hyperflow.report.html import error_html, plan_html
from hyperflow.spec.fleet import Fleet
from hyperflow.spec.launch import Launch
from hyperflow.spec.training_job import TrainingJob
from hyperflow.user_code import user_code


class DeclaredJob:
    """A decorated function: a job to plan, explain, compile or submit. Calling it calls the function."""

    def __init__(self, function: Callable[..., Any], draft: Draft) -> None:
        self._function = function
        self._draft = draft
        setattr(self, ATTRIBUTE, draft)  # a decorator above @hf.job adds to the same draft
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself."""
        return self._function(*args, **kwargs)

    @property
    def name(self) -> str:
        """The declared name; the function's name when none was given."""
        return str(self._draft.parts["job"].get("name", self.__name__))

    @property
    def folder(self) -> Path:
        """The folder of the file that declares the job; relative paths of the declaration start there."""
        return Path(inspect.getsourcefile(self._function) or ".").parent

    def training_job(self, fleet: Fleet | None = None) -> TrainingJob:
        """Give the checked declaration; raises InputError with every mistake in it.

        A function that takes the plan as its argument is called after planning, so `launch` is still None here.
        """
        launch = None if self.takes_plan else self.launch(None)
        return assemble(self._draft, launch, fleet)

    def launch(self, plan: Plan | None) -> Launch:
        """Call the function and give the entry point that it returns; raises InputError (HF115) for anything else.

        HF119 where the function itself raises.
        """
        entry = self._call(plan)
        if getattr(entry, "kind", None) in ("megatron", "torchtitan", "torchrun", "function"):
            return entry
        raise HyperFlowError(
            Finding(
                code="HF115",
                message=f"{self.__name__}() returns {type(entry).__name__}, which is no entry point",
                where=definition_place(self._function),
                got=type(entry).__name__,
                expected="hf.megatron(...), hf.torchtitan(...), hf.torchrun(...) or hf.function(...)",
                hint="return one of them from the decorated function",
            )
        )

    def _call(self, plan: Plan | None) -> Any:
        place, expected = definition_place(self._function), "a function that returns an entry point"
        with user_code("HF119", f"{self.__name__}()", place, expected):
            return self._function(plan) if self.takes_plan else self._function()

    def compilation(self, options: CompileOptions | None = None, fleet: Fleet | None = None) -> Compilation:
        """Run the passes and give everything they made."""
        return compile_job(self.training_job(fleet), self.folder, options or CompileOptions(), self.launch)

    def with_settings(self, settings: Sequence[str]) -> "DeclaredJob":
        """Give the job with each `path=value` set, as `--set` does."""
        return DeclaredJob(self._function, apply_overrides(self._draft, settings)) if settings else self

    def plan(self) -> Plan:
        """Give the plan: split, placement, schedule, predicted time and memory."""
        return self.compilation(CompileOptions(stop_after="plan")).needed_plan

    def explain(self) -> None:
        """Print why the plan is as it is, next to what was not chosen."""
        done = self.compilation()
        lines = explain_lines(done.needed_resolved, done.needed_plan, done.needed_manifests, done.findings)
        print("\n".join(lines))

    def compile(self, directory: str | Path) -> tuple[str, ...]:
        """Write the bundle and give the names of its files."""
        bundle = self.compilation().needed_bundle
        write_bundle(bundle, Path(directory))
        return tuple(file.path for file in bundle.files)

    def submit(self, directory: str | Path, *, context: str | None = None, wait: bool = False) -> None:
        """Compile into the directory and submit the bundle to the plane of a kubeconfig context (None: the current).

        Prints each step; with `wait` it follows until the job ends. Raises HyperFlowError as `hyperflow submit` does.
        """
        from hyperflow.submit.submit_bundle import submit_bundle

        self.compile(directory)
        submit_bundle(Path(directory), context=context, wait=wait, on_step=print)

    def _repr_html_(self) -> str:
        try:
            done = self.compilation(CompileOptions(stop_after="plan"))
            return plan_html(done.needed_plan, done.findings)
        except HyperFlowError as error:
            return error_html(error.findings)

    @property
    def takes_plan(self) -> bool:
        """Say whether the function makes its entry point from the plan."""
        return bool(inspect.signature(self._function).parameters)


@public("hf.job")
def job(
    *,
    name: str = UNSET,
    image: str = UNSET,
    queue: str = UNSET,
    priority: str = UNSET,
    namespace: str = UNSET,
    retries: int = UNSET,
    labels: dict[str, str] = UNSET,
    annotations: dict[str, str] = UNSET,
    **unknown: object,
) -> Callable[[Callable[..., Any]], DeclaredJob]:
    """Make a job of the decorated function; stands above the other decorators."""
    values = {key: value for key, value in locals().items() if key != "unknown"}
    decorate: Callable[[Callable[..., Any]], Callable[..., Any]] = collect("job", values, unknown)

    def finish(function: Callable[..., Any]) -> DeclaredJob:
        collected = decorate(function)
        draft = draft_of(collected)
        draft.parts["job"].setdefault("name", function.__name__.replace("_", "-"))
        return DeclaredJob(collected, draft)

    return finish
