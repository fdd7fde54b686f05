"""Train a packed HyperFlow job over one or more clusters and follow it to its end."""

from typing import NamedTuple

from kfp import dsl


@dsl.component(base_image="python:3.12", packages_to_install=["hyperflow[kfp]==0.1.0"], install_kfp_package=False)
def hyperflow_train(
    job: dict,
    checkpoint: dsl.Output[dsl.Model],
    plan: dsl.Output[dsl.HTML],
    timeline: dsl.Output[dsl.Markdown],
    metrics: dsl.Output[dsl.Metrics],
    status: dsl.Output[dsl.Artifact],
    values: dict = {},  # noqa: B006 - kfp reads defaults from the signature
    run_id: str = "",
    backend: str = "plane",
    context: str = "",
    plan_at: str = "compile",
    fleet_file: str = "",
    work_dir: str = "",
    poll_seconds: float = 15.0,
    queue_timeout_seconds: float = 0.0,
    run_timeout_seconds: float = 0.0,
    on_cancel: str = "delete",
    on_failure: str = "delete",
    must_complete: bool = True,
) -> NamedTuple("Outputs", [("state", str), ("predicted_step_seconds", float), ("checkpoint_uri", str)]):
    """Plan, submit (or take over) and follow a training job; fail with it.

    Args:
        job: What hyperflow.kfp_steps.pack_job gives.
        values: Late values by target, such as {"parallel.tp": 4, "env.LEARNING_RATE": "0.1"}.
        run_id: The pipeline run; give dsl.PIPELINE_JOB_ID_PLACEHOLDER, so that a retry takes its own job over.
        backend: plane (a Karmada plane), or local (processes of the step's machine).
        context: The kubeconfig context of the plane.
        plan_at: compile (the declared fleet) or runtime (the fleet as it is when the step runs).
        fleet_file: With runtime, a fleet.yaml to read instead of the live plane.
        work_dir: With local, the folder in which commands start.
        poll_seconds: The time between two looks at the job.
        queue_timeout_seconds: How long the job may wait before it runs; 0 is no limit.
        run_timeout_seconds: How long it may run; 0 is no limit.
        on_cancel: delete or keep the job when the step is cancelled.
        on_failure: delete or keep the job when it does not complete.
        must_complete: Whether the task fails with the job; otherwise `state` says how it ended.
        checkpoint: The checkpoint; its metadata `checkpoint_uri` is the job's checkpoint.to.
        plan: The plan as a page.
        timeline: What the job did and what it waited for.
        metrics: Predicted and measured figures.
        status: The final status as JSON.

    Returns:
        state: COMPLETED, FAILED, DEGRADED or TIMED_OUT.
        predicted_step_seconds: The step of the plan.
        checkpoint_uri: The job's checkpoint.to; empty where the job keeps no checkpoint.
    """
    from hyperflow.kfp_steps.component_body import from_struct, train

    return train(
        job=job,
        values=from_struct(values),
        run_id=run_id,
        backend=backend,
        context=context,
        plan_at=plan_at,
        fleet_file=fleet_file,
        work_dir=work_dir,
        poll_seconds=poll_seconds,
        queue_timeout_seconds=queue_timeout_seconds,
        run_timeout_seconds=run_timeout_seconds,
        on_cancel=on_cancel,
        on_failure=on_failure,
        must_complete=must_complete,
        checkpoint=checkpoint,
        plan=plan,
        timeline=timeline,
        metrics=metrics,
        status=status,
    )
