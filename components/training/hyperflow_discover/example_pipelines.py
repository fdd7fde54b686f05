"""A pipeline that reads the fleet."""

from kfp import dsl


@dsl.pipeline(name="discover-the-fleet")
def discover_the_fleet(context: str = ""):
    """Read clusters, devices and topology from the plane of a kubeconfig context."""
    from hyperflow.kfp_steps import discover

    discover(context=context)
