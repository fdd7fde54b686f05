"""Compiled components and pipelines: `make golden` rewrites them, tests compare with them."""

import contextlib
import importlib.util
import os
import sys
import tempfile
from pathlib import Path

from tests.component_readme import readme_of

ROOT = Path(__file__).parents[1]
COMPONENTS = ROOT / "components" / "training"
EXAMPLE = ROOT / "examples" / "04_kfp_pipeline"
IMAGE = "registry.example.com/hyperflow-step:0.1.0"
"""The name that components/deploy/Dockerfile shows; whoever uses the container form gives their own."""
PIPELINES = ("pipeline", "sweep", "fallback")


def load(path: Path):
    """Import a file by its path; what it adds to the import path is taken back."""
    spec = importlib.util.spec_from_file_location(f"kfp_golden_{path.parent.name}_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    # the examples import `job`, a name that any test may have taken
    taken = sys.modules.pop("job", None)
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path[:] = before
        sys.modules.pop("job", None)
        if taken is not None:
            sys.modules["job"] = taken
    return module


def ir_text(made) -> str:
    """Compile a component or pipeline and give its text."""
    from kfp import compiler

    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(sys.stderr):
        path = Path(folder) / "made.yaml"
        compiler.Compiler().compile(made, str(path))
        return path.read_text(encoding="utf-8")


def golden_texts() -> dict[Path, str]:
    """Give path -> text of every compiled component and pipeline of the repository, and of the components' READMEs."""
    import hyperflow.kfp_steps as hfk

    found = {}
    for folder in sorted(COMPONENTS.iterdir()):
        if (folder / "component.py").is_file():
            component = getattr(load(folder / "component.py"), folder.name)
            found[folder / "component.yaml"] = ir_text(component)
            found[folder / "README.md"] = readme_of(folder, component.python_func)
            container = hfk.component(folder.name, image=IMAGE, container=True)
            found[folder / "container.yaml"] = ir_text(container)
    for name in PIPELINES:
        found[EXAMPLE / "compiled" / f"{name}.yaml"] = ir_text(load(EXAMPLE / f"{name}.py").pipeline)
    return found


def main() -> None:
    """Rewrite the files; refused in CI, which only compares."""
    if os.environ.get("CI"):
        sys.exit("golden files are rewritten by people, not by CI")
    for path, text in golden_texts().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
