"""The components of components/training, and tasks made of them inside a pipeline."""

import importlib.util
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from hyperflow.kfp_steps.container_form import container_form
from hyperflow.kfp_steps.require_kfp import load_kfp, package_requirement

NAMES = ("hyperflow_cleanup", "hyperflow_discover", "hyperflow_plan", "hyperflow_train")
BASE_IMAGE = "python:3.12"


def component_folder() -> Path:
    """Give the folder of the components: the checkout's where there is one, else that of the installed package."""
    package = Path(str(files("hyperflow")))
    checkout = package.parent
    if (checkout / "pyproject.toml").is_file() and (checkout / "components").is_dir():
        return checkout / "components" / "training"
    return package / "_data" / "components" / "training"


def component(
    name: str, *, image: str | None = None, packages: Sequence[str] | None = None, container: bool = False
) -> Any:
    """Give a component by name, such as hyperflow_train.

    With `image`, one that has HyperFlow, nothing is installed in the pod; otherwise `packages` are. With `container`
    the image needs no kfp either. Raises UsageError (HF564) for a container without an image.
    """
    dsl = load_kfp().dsl
    path = component_folder() / name / "component.py"
    spec = importlib.util.spec_from_file_location(f"hyperflow_component_{name}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    lightweight = dsl.component(getattr(module, name).python_func, **settings(image, packages))
    return container_form(lightweight, name.removeprefix("hyperflow_"), {}, image) if container else lightweight


def settings(image: str | None, packages: Sequence[str] | None) -> dict[str, Any]:
    """Give the image of a component and what is installed in it."""
    installed = [] if image else packages if packages is not None else [package_requirement()]
    return {"base_image": image or BASE_IMAGE, "packages_to_install": list(installed), "install_kfp_package": False}


def discover(
    *, image: str | None = None, packages: Sequence[str] | None = None, container: bool = False, **inputs: Any
) -> Any:
    """Add a task that reads the fleet and outputs the artifact `fleet` and the number of devices."""
    made = component("hyperflow_discover", image=image, packages=packages, container=container)
    return _uncached(made(**inputs))


def cleanup(
    *, image: str | None = None, packages: Sequence[str] | None = None, container: bool = False, **inputs: Any
) -> Any:
    """Add the exit task for dsl.ExitHandler: it deletes what the run's training steps have left."""
    run_id = load_kfp().dsl.PIPELINE_JOB_ID_PLACEHOLDER
    made = component("hyperflow_cleanup", image=image, packages=packages, container=container)
    return _uncached(made(run_id=run_id, **inputs))


def _uncached(task: Any) -> Any:
    """What a task of ours finds changes with the clusters, so its result is never taken from a cache."""
    task.set_caching_options(False)
    return task
