"""What the container form of a component runs: the same body as the lightweight form, without kfp in the image.

    python -m hyperflow.kfp_steps.container_main BODY --executor_input JSON [--bind NAME TARGET] [--path NAME PATH]

kfp's launcher puts all inputs of the task into JSON (`{{$}}` in the compiled component) and reads the outputs from the
file that it names there: https://github.com/kubeflow/pipelines, backend/src/v2/component/launcher_v2.go.
"""

import argparse
import inspect
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hyperflow.errors import Finding, InputError
from hyperflow.json_tree import dig, mapping, text
from hyperflow.kfp_steps import component_body
from hyperflow.kfp_steps.late_values import from_struct
from hyperflow.kfp_steps.train_step import reported

BODIES: Mapping[str, Callable[..., Any]] = {
    "cleanup": component_body.cleanup,
    "discover": component_body.discover,
    "plan": component_body.plan,
    "train": component_body.train,
}


@dataclass(kw_only=True)
class OutputArtifact:
    """An artifact that the body fills; `path` is where the launcher takes its file from."""

    path: str
    uri: str
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])

    def log_metric(self, metric: str, value: float) -> None:
        """Note one figure, as kfp's Metrics does."""
        self.metadata[metric] = value


def main(arguments: list[str]) -> int:
    """Run one component; findings end the process with their exit code, as in the lightweight form."""
    args = _arguments(arguments)
    given = reported(lambda: _read(args.executor_input))
    artifacts = {name: _artifact(given, name, path) for name, path in args.path}
    body = BODIES[args.body]
    result = body(**reported(lambda: _inputs(given, body, dict(args.bind), artifacts)), **artifacts)
    output = Path(text(dig(given, "outputs", "outputFile")))
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(_output(result, artifacts)), encoding="utf-8")
    return 0


def _arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m hyperflow.kfp_steps.container_main")
    parser.add_argument("body", choices=sorted(BODIES))
    parser.add_argument("--executor_input", required=True, metavar="JSON", help="what kfp puts for {{$}}")
    pair: dict[str, Any] = {"action": "append", "nargs": 2, "default": []}
    parser.add_argument("--bind", metavar=("NAME", "TARGET"), help="a late input and what it is bound to", **pair)
    parser.add_argument("--path", metavar=("NAME", "PATH"), help="an output artifact and its file", **pair)
    return parser.parse_args(arguments)


def _read(executor_input: str) -> dict[str, Any]:
    try:
        given = mapping(json.loads(executor_input))
    except ValueError as error:
        raise InputError(_not_from_kfp(f"it is no JSON: {error}")) from None
    if not text(dig(given, "outputs", "outputFile")):
        raise InputError(_not_from_kfp("it names no outputs.outputFile"))
    return given


def _inputs(
    given: Mapping[str, Any],
    body: Callable[..., Any],
    bound: Mapping[str, str],
    artifacts: Mapping[str, OutputArtifact],
) -> dict[str, Any]:
    """Give the body's inputs by name; raises InputError (HF565) where kfp has left one out."""
    values = mapping(dig(given, "inputs", "parameterValues"))
    if bound:
        late = {target: values.get(name, _uri(given, name)) for name, target in bound.items()}
        values = {**values, "values": late}
    else:
        values = {**values, "values": from_struct(values.get("values", {}))}
    values["run_state"] = text(dig(values, "run_status", "state"))
    wanted = inspect.signature(body).parameters
    missing = [
        name
        for name, item in wanted.items()
        if name not in values and name not in artifacts and item.default is inspect.Parameter.empty
    ]
    if missing:
        raise InputError(_not_from_kfp(f"it lacks {', '.join(missing)}"))
    return {name: value for name, value in values.items() if name in wanted and name not in artifacts}


def _uri(given: Mapping[str, Any], name: str) -> str:
    return text(dig(given, "inputs", "artifacts", name, "artifacts", 0, "uri"))


def _artifact(given: Mapping[str, Any], name: str, path: str) -> OutputArtifact:
    return OutputArtifact(path=path, uri=text(dig(given, "outputs", "artifacts", name, "artifacts", 0, "uri")))


def _output(result: Any, artifacts: Mapping[str, OutputArtifact]) -> dict[str, Any]:
    """Give kfp's executor output of a body's NamedTuple and what it has made of its artifacts."""
    shown = {
        name: {"artifacts": [{"name": name, "uri": artifact.uri, "metadata": artifact.metadata}]}
        for name, artifact in artifacts.items()
    }
    return {"parameterValues": result._asdict(), "artifacts": shown}


def _not_from_kfp(reason: str) -> Finding:
    return Finding(
        code="HF565",
        message=f"the container of a component was not started as kfp starts it: {reason}",
        where="--executor_input",
        expected="what kfp puts for {{$}} in the compiled component",
        hint="make the component with hyperflow.kfp_steps.component(name, image=..., container=True)",
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
