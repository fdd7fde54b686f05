"""A pipeline that plans a packed job for a number of degrees and trains nothing."""

from kfp import dsl


@dsl.pipeline(name="plan-a-packed-job")
def plan_a_packed_job(job: dict):
    """Plan with two and with four tensor-parallel devices, side by side."""
    from hyperflow.kfp_steps import component

    with dsl.ParallelFor([2, 4]) as degree:
        component("hyperflow_plan")(job=job, values={"parallel.tp": degree}).set_caching_options(False)
