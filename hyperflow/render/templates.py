"""The templates: the checkout's where there is one, else those of the installed package; a user's own come first."""

from importlib.resources import files
from pathlib import Path

from jinja2 import BaseLoader, ChoiceLoader, FileSystemLoader, StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment

from hyperflow.render.scalars import block, scalar, text_block


def template_folder() -> Path:
    """Give the folder with the templates of this installation."""
    package = Path(str(files("hyperflow")))
    checkout = package.parent
    if (checkout / "pyproject.toml").is_file() and (checkout / "templates").is_dir():
        return checkout / "templates"
    return package / "_data" / "templates"


def template_environment(own: Path | None = None) -> ImmutableSandboxedEnvironment:
    """Give a sandboxed environment in which an undefined name is an error; no escaping, only the filters write values.

    Filters: `scalar` one value, `text_block(indent)` a text of lines, `block(indent)` a tree.
    """
    loaders: list[BaseLoader] = [FileSystemLoader(str(own), encoding="utf-8")] if own else []
    loaders.append(FileSystemLoader(str(template_folder()), encoding="utf-8"))
    environment = ImmutableSandboxedEnvironment(
        loader=ChoiceLoader(loaders),
        undefined=StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(scalar=scalar, text_block=text_block, block=block)
    return environment
