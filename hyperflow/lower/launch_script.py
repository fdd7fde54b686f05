"""Plain torchrun scripts and packed functions: they read the plan from HF_* variables and plan.json."""

import json

from hyperflow.errors import Finding, InputError
from hyperflow.ir.plan import Plan
from hyperflow.ir.resolved import ResolvedJob
from hyperflow.lower.draft import LAUNCH_DIR
from hyperflow.lower.launch import LaunchRecipe, pod_file
from hyperflow.lower.launch_megatron import megatron_recipe
from hyperflow.lower.launch_torchtitan import torchtitan_recipe
from hyperflow.spec.launch import FunctionLaunch, MegatronLaunch, TorchrunLaunch, TorchtitanLaunch


def launch_recipe(job: ResolvedJob, plan: Plan) -> LaunchRecipe:
    """Give the recipe of the job's framework."""
    launch = job.job.launch
    if isinstance(launch, MegatronLaunch):
        return megatron_recipe(job, plan, launch)
    if isinstance(launch, TorchtitanLaunch):
        return torchtitan_recipe(job, plan, launch)
    if isinstance(launch, TorchrunLaunch):
        return _torchrun_recipe(job, launch)
    assert launch is not None, "the compiler calls the decorated function before it lowers"
    return _function_recipe(job, launch)


def _torchrun_recipe(job: ResolvedJob, launch: TorchrunLaunch) -> LaunchRecipe:
    if launch.script.startswith("-") and launch.script != "-m":
        raise InputError(
            Finding(
                code="HF404",
                message=f"{launch.script!r} is an option of torchrun, and the launch script sets those",
                where="launch.script",
                got=launch.script,
                expected="the path of a script, or -m with a module as first argument",
                span=job.job.sources.get("launch"),
            )
        )
    return LaunchRecipe(arguments=(launch.script, *launch.args))


def _function_recipe(job: ResolvedJob, launch: FunctionLaunch) -> LaunchRecipe:
    if not launch.name.isidentifier():
        raise InputError(
            Finding(
                code="HF408",
                message=f"{launch.name!r} is no function that can be packed",
                where="launch",
                hint="give hf.function a function with a name of its own, not a lambda",
                span=job.job.sources.get("launch"),
            )
        )
    call = {"name": launch.name, "arguments": dict(launch.arguments)}
    return LaunchRecipe(
        arguments=(f"{LAUNCH_DIR}/run_function.py",),
        pod_files={
            "run_function.py": pod_file("run_function.py"),
            "packed_function.py": launch.source,
            "arguments.json": json.dumps(call, indent=1, ensure_ascii=False) + "\n",
        },
    )
