"""Pipelines that train a packed job; `hyperflow.kfp_steps.pack_job(train)` gives their input `job`."""

from kfp import dsl


@dsl.pipeline(name="train-a-packed-job")
def train_a_packed_job(job: dict, learning_rate: str = "0.1"):
    """Train, and leave no job behind whatever happens."""
    from hyperflow.kfp_steps import cleanup, component

    with dsl.ExitHandler(cleanup()):
        task = component("hyperflow_train")(
            job=job, values={"env.LEARNING_RATE": learning_rate}, run_id=dsl.PIPELINE_JOB_ID_PLACEHOLDER
        )
        task.set_caching_options(False)
