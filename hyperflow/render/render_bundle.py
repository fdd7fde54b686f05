"""Rendering: typed objects through Jinja templates to a bundle's files."""

from collections.abc import Sequence
from pathlib import Path

from jinja2 import TemplateError, TemplateNotFound
from jinja2.sandbox import ImmutableSandboxedEnvironment

from hyperflow.errors import Finding, InputError
from hyperflow.ir.bundle import Bundle, BundleFile
from hyperflow.ir.manifests import Manifests
from hyperflow.k8s.record import KubernetesObject
from hyperflow.render.templates import template_environment


def render(manifests: Manifests, templates_dir: Path | None = None) -> Bundle:
    """Write each object with the template of its kind; files are numbered in apply order.

    Raises InputError (HF418) for a template that does not exist, does not parse or names something undefined.
    """
    return Bundle(
        job=manifests.job,
        name=manifests.name,
        namespace=manifests.namespace,
        mode=manifests.mode,
        mode_reason=manifests.mode_reason,
        files=render_objects(manifests.objects, manifests.name, templates_dir),
    )


def render_objects(
    objects: Sequence[KubernetesObject], bundle: str, templates_dir: Path | None = None
) -> tuple[BundleFile, ...]:
    """Write objects of a bundle to numbered files in their order; raises as `render` does."""
    environment = template_environment(templates_dir)
    return tuple(
        BundleFile(path=file_name(index, item, bundle), text=render_object(environment, item))
        for index, item in enumerate(objects)
    )


def render_object(environment: ImmutableSandboxedEnvironment, item: KubernetesObject) -> str:
    """Give the YAML text of one object."""
    name = template_name(item.kind_name)
    try:
        text = environment.get_template(name).render(object=item.document())
    except TemplateNotFound as error:
        raise InputError(_fault(name, f"there is no template {error.name}")) from None
    except (TemplateError, TypeError, ValueError, UnicodeError, ArithmeticError) as error:
        line = getattr(error, "lineno", None)
        raise InputError(_fault(f"{name}:{line}" if line else name, str(error))) from None
    return text if text.endswith("\n") else text + "\n"


def template_name(kind: str) -> str:
    """The template of a kind.

    >>> template_name("PropagationPolicy")
    'propagation-policy.yaml.j2'
    """
    known = {"HyperJob": "hyperjob", "ConfigMap": "config-map"}
    words = known.get(kind) or "".join(f"-{c.lower()}" if c.isupper() else c for c in kind).lstrip("-")
    return f"{words}.yaml.j2"


def file_name(index: int, item: KubernetesObject, bundle: str) -> str:
    """The file of an object: its number in apply order, its kind, and its name without the bundle's.

    So a file keeps its name when the content hash changes.
    """
    words = template_name(item.kind_name).removesuffix(".yaml.j2")
    own = item.metadata.name.removeprefix(bundle).lstrip("-")
    return f"{index:02d}-{words}-{own}.yaml" if own else f"{index:02d}-{words}.yaml"


def _fault(where: str, reason: str) -> Finding:
    return Finding(
        code="HF418",
        message=f"the template cannot be rendered: {reason}",
        where=where,
        hint="compare it with the template of the same name in templates/",
    )
