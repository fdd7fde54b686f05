"""A pipeline whose jobs are deleted when it fails or is cancelled, in a namespace of a team."""

from kfp import dsl


@dsl.pipeline(name="clean-up-after-a-run")
def clean_up_after_a_run(job: dict):
    """Train inside an exit handler that looks for the run's jobs where they live."""
    from hyperflow.kfp_steps import cleanup, component

    with dsl.ExitHandler(cleanup(namespace="team-a")):
        task = component("hyperflow_train")(job=job, run_id=dsl.PIPELINE_JOB_ID_PLACEHOLDER)
        task.set_caching_options(False)
