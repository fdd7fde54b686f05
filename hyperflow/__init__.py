"""HyperFlow: declare a training job once; get a proven split over unequal clusters and the manifests that run it.

The public names are imported when first used, so that `import hyperflow` loads no solver, client or kfp.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hyperflow.dsl.declared_job import job
    from hyperflow.dsl.decorators import (
        checkpoint,
        data,
        env,
        fallback,
        guard,
        hard,
        model,
        on,
        parallel,
        patch,
        soft,
        topology,
    )
    from hyperflow.dsl.fleet import Fleet, link
    from hyperflow.dsl.fleet import cluster as Cluster
    from hyperflow.dsl.launch import function, megatron, torchrun, torchtitan
    from hyperflow.spec.model import Attention, Experts, FeedForward, Layer, Recurrence

_PUBLIC = {
    "Attention": ("hyperflow.spec.model", "Attention"),
    "Cluster": ("hyperflow.dsl.fleet", "cluster"),
    "Experts": ("hyperflow.spec.model", "Experts"),
    "FeedForward": ("hyperflow.spec.model", "FeedForward"),
    "Fleet": ("hyperflow.dsl.fleet", "Fleet"),
    "Layer": ("hyperflow.spec.model", "Layer"),
    "Recurrence": ("hyperflow.spec.model", "Recurrence"),
    "checkpoint": ("hyperflow.dsl.decorators", "checkpoint"),
    "data": ("hyperflow.dsl.decorators", "data"),
    "env": ("hyperflow.dsl.decorators", "env"),
    "fallback": ("hyperflow.dsl.decorators", "fallback"),
    "function": ("hyperflow.dsl.launch", "function"),
    "guard": ("hyperflow.dsl.decorators", "guard"),
    "hard": ("hyperflow.dsl.decorators", "hard"),
    "job": ("hyperflow.dsl.declared_job", "job"),
    "link": ("hyperflow.dsl.fleet", "link"),
    "megatron": ("hyperflow.dsl.launch", "megatron"),
    "model": ("hyperflow.dsl.decorators", "model"),
    "on": ("hyperflow.dsl.decorators", "on"),
    "parallel": ("hyperflow.dsl.decorators", "parallel"),
    "patch": ("hyperflow.dsl.decorators", "patch"),
    "soft": ("hyperflow.dsl.decorators", "soft"),
    "topology": ("hyperflow.dsl.decorators", "topology"),
    "torchrun": ("hyperflow.dsl.launch", "torchrun"),
    "torchtitan": ("hyperflow.dsl.launch", "torchtitan"),
}

__all__ = [
    "Attention",
    "Cluster",
    "Experts",
    "FeedForward",
    "Fleet",
    "Layer",
    "Recurrence",
    "checkpoint",
    "data",
    "env",
    "fallback",
    "function",
    "guard",
    "hard",
    "job",
    "link",
    "megatron",
    "model",
    "on",
    "parallel",
    "patch",
    "soft",
    "topology",
    "torchrun",
    "torchtitan",
]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'hyperflow' has no attribute {name!r}")
    module, attribute = _PUBLIC[name]
    value = getattr(importlib.import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC})
