"""Read the fleet that jobs can run on."""

from typing import NamedTuple

from kfp import dsl


@dsl.component(base_image="python:3.12", packages_to_install=["hyperflow[kfp]==0.1.0"], install_kfp_package=False)
def hyperflow_discover(
    fleet: dsl.Output[dsl.Artifact],
    context: str = "",
    sources: list = [],  # noqa: B006 - kfp reads defaults from the signature
) -> NamedTuple("Outputs", [("devices", int)]):
    """Read clusters, devices and topology from a live plane, or from files; give the number of usable devices.

    Args:
        fleet: The fleet as fleet.yaml.
        context: The kubeconfig context of the plane.
        sources: Files to read instead, of any kind that `hyperflow fleet` reads.

    Returns:
        devices: The number of usable devices.
    """
    from hyperflow.kfp_steps.component_body import discover

    return discover(context=context, sources=sources, fleet=fleet)
