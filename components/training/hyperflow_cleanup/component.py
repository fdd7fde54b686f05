"""Delete the jobs that a pipeline run has left; the exit task of a dsl.ExitHandler."""

from typing import NamedTuple

from kfp import dsl


@dsl.component(base_image="python:3.12", packages_to_install=["hyperflow[kfp]==0.1.0"], install_kfp_package=False)
def hyperflow_cleanup(
    run_id: str,
    run_status: dsl.PipelineTaskFinalStatus,
    backend: str = "plane",
    context: str = "",
    namespace: str = "default",
    on_failure: str = "delete",
    on_success: str = "keep",
) -> NamedTuple("Outputs", [("deleted_jobs", int)]):
    """Delete or keep the jobs of a run by the way it ended; give the number of deleted jobs.

    Args:
        run_id: The pipeline run: dsl.PIPELINE_JOB_ID_PLACEHOLDER.
        run_status: How the tasks inside the handler ended; kfp fills it in.
        backend: The backend of the run's training steps.
        context: The kubeconfig context of the plane.
        namespace: The namespace of the jobs on the plane.
        on_failure: delete or keep jobs when the run failed or was cancelled.
        on_success: delete or keep jobs when it succeeded.

    Returns:
        deleted_jobs: How many jobs were deleted.
    """
    from hyperflow.kfp_steps.component_body import cleanup

    return cleanup(
        run_id=run_id,
        backend=backend,
        context=context,
        namespace=namespace,
        run_state=run_status.state,
        on_failure=on_failure,
        on_success=on_success,
    )
