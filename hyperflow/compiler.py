"""The compiler: the tuple of passes, and the record that they fill in one after the other."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from hyperflow.catalog.calibration import default_calibration
from hyperflow.errors import Finding, raise_errors
from hyperflow.inventory.models import load_model, longest_sequence
from hyperflow.ir.bundle import Bundle, BundleFile
from hyperflow.ir.calibration import Calibration
from hyperflow.ir.manifests import Manifests
from hyperflow.ir.plan import Plan
from hyperflow.ir.profile import Profile
from hyperflow.ir.resolved import ResolvedJob
from hyperflow.lower.comm_contract import comm_text
from hyperflow.lower.expand import expand
from hyperflow.lower.lower_job import lower
from hyperflow.plan.make_plan import make_plan
from hyperflow.render.render_bundle import render, render_objects
from hyperflow.report.bundle_pages import add_pages
from hyperflow.resolve.resolve_job import resolve
from hyperflow.spec.launch import Launch
from hyperflow.spec.training_job import TrainingJob
from hyperflow.validate.check_bundle import check

LaunchFor = Callable[[Plan | None], Launch]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileOptions:
    """What the caller chose: mode, last pass, template folder, calibration, measured layers, expansion.

    With `expand` the bundle also holds, under expanded/, what the HyperJob controller would make of it.
    """

    mode: str = "auto"
    stop_after: str | None = None
    templates: Path | None = None
    calibration: Calibration = field(default_factory=default_calibration)
    profile: Profile | None = None
    expand: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Compilation:
    """What the passes have made so far; a field is None until its pass has run."""

    job: TrainingJob
    base: Path
    options: CompileOptions
    launch_for: LaunchFor
    resolved: ResolvedJob | None = None
    plan: Plan | None = None
    manifests: Manifests | None = None
    bundle: Bundle | None = None
    findings: tuple[Finding, ...] = ()

    @property
    def last_record(self) -> object:
        """What the last pass that ran has made."""
        made: tuple[object, ...] = (self.bundle, self.manifests, self.plan, self.resolved)
        return next(record for record in made if record is not None)

    @property
    def needed_resolved(self) -> ResolvedJob:
        """The resolved job; a compilation stopped before it is our own bug."""
        assert self.resolved is not None
        return self.resolved

    @property
    def needed_plan(self) -> Plan:
        """The plan; a compilation stopped before it is our own bug."""
        assert self.plan is not None
        return self.plan

    @property
    def needed_manifests(self) -> Manifests:
        """The manifests; a compilation stopped before them is our own bug."""
        assert self.manifests is not None
        return self.manifests

    @property
    def needed_bundle(self) -> Bundle:
        """The bundle; a compilation stopped before it is our own bug."""
        assert self.bundle is not None
        return self.bundle


def _resolve(state: Compilation) -> Compilation:
    model, findings = load_model(state.job.model, state.base)
    told = (*state.job.findings, *findings, *longest_sequence(state.job.model, model, findings))
    resolved = resolve(state.job, model, told)
    return replace(state, resolved=resolved, findings=resolved.findings)


def _plan(state: Compilation) -> Compilation:
    plan = make_plan(state.needed_resolved, state.options.calibration, state.options.profile)
    job = state.job.model_copy(update={"launch": state.launch_for(plan)}) if state.job.launch is None else state.job
    resolved = replace(state.needed_resolved, job=job)
    return replace(state, job=job, plan=plan, resolved=resolved, findings=(*state.findings, *plan.findings))


def _lower(state: Compilation) -> Compilation:
    manifests = lower(state.needed_resolved, state.needed_plan, state.options.mode)
    return replace(state, manifests=manifests, findings=(*state.findings, *manifests.findings))


def _render(state: Compilation) -> Compilation:
    return replace(state, bundle=render(state.needed_manifests, state.options.templates))


def _validate(state: Compilation) -> Compilation:
    found = check(state.needed_manifests, state.needed_bundle)
    raise_errors(found)
    return replace(state, findings=(*state.findings, *found))


def _report(state: Compilation) -> Compilation:
    contract = BundleFile(path="comm.json", text=comm_text(state.needed_manifests.comm))
    files = (*state.needed_bundle.files, contract, *_expanded(state))
    bundle = replace(state.needed_bundle, files=files)
    return replace(state, bundle=add_pages(bundle, state.needed_resolved, state.needed_plan, state.findings))


def _expanded(state: Compilation) -> list[BundleFile]:
    if not state.options.expand:
        return []
    manifests = state.needed_manifests
    expansion = expand(manifests)
    files = render_objects(expansion.objects, manifests.name, state.options.templates)
    claims = BundleFile(path="expanded/claims.txt", text="".join(f"{claim}\n" for claim in expansion.claims))
    return [*(replace(file, path=f"expanded/{file.path}") for file in files), claims]


PASSES: tuple[tuple[str, Callable[[Compilation], Compilation]], ...] = (
    ("resolve", _resolve),
    ("plan", _plan),
    ("lower", _lower),
    ("render", _render),
    ("validate", _validate),
    ("report", _report),
)


def compile_job(
    job: TrainingJob,
    base: Path,
    options: CompileOptions,
    launch_for: LaunchFor,
    on_pass: Callable[[str, Compilation], None] = lambda _name, _state: None,
) -> Compilation:
    """Run the passes in order and give everything they made; `on_pass` sees each result.

    `base` is the folder that relative paths start from. `launch_for` gives the entry point of a function that takes
    the plan. Raises HyperFlowError with all findings of the pass that failed.
    """
    state = Compilation(job=job, base=base, options=options, launch_for=launch_for)
    for name, run in PASSES:
        state = run(state)
        on_pass(name, state)
        if name == options.stop_after:
            break
    return state
