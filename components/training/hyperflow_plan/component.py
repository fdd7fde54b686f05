"""Plan a packed HyperFlow job without running it."""

from typing import NamedTuple

from kfp import dsl


@dsl.component(base_image="python:3.12", packages_to_install=["hyperflow[kfp]==0.1.0"], install_kfp_package=False)
def hyperflow_plan(
    job: dict,
    plan: dsl.Output[dsl.HTML],
    metrics: dsl.Output[dsl.Metrics],
    values: dict = {},  # noqa: B006 - kfp reads defaults from the signature
    context: str = "",
    plan_at: str = "compile",
    fleet_file: str = "",
) -> NamedTuple("Outputs", [("feasible", bool), ("predicted_step_seconds", float), ("reason", str)]):
    """Plan a training job and say how long a step would take, or why there is no plan.

    Args:
        job: What hyperflow.kfp_steps.pack_job gives.
        values: Late values by target, such as {"parallel.tp": 4}.
        context: The kubeconfig context of the plane.
        plan_at: compile (the declared fleet) or runtime (the fleet as it is when the step runs).
        fleet_file: With runtime, a fleet.yaml to read instead of the live plane.
        plan: The plan as a page.
        metrics: Predicted figures.

    Returns:
        feasible: Whether there is a plan.
        predicted_step_seconds: Its step; 0 where there is none.
        reason: Why there is none.
    """
    from hyperflow.kfp_steps.component_body import from_struct
    from hyperflow.kfp_steps.component_body import plan as make_plan

    return make_plan(
        job=job,
        values=from_struct(values),
        context=context,
        plan_at=plan_at,
        fleet_file=fleet_file,
        plan=plan,
        metrics=metrics,
    )
