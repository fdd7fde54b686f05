"""The plan as JSON, schema `hyperflow.plan/v1`."""

from dataclasses import asdict
from typing import Any, cast

from hyperflow.ir.plan import Plan

SCHEMA = "hyperflow.plan/v1"


def plan_document(plan: Plan) -> dict[str, Any]:
    """Give the plan as a JSON document; keys stay, more may come."""
    return _rounded(
        {
            "schema": SCHEMA,
            "job": plan.job,
            "shape": plan.shape,
            "model": {"total_parameters": plan.total_parameters, "layers": plan.num_layers},
            "degrees": asdict(plan.degrees),
            "micro_batch_size": plan.micro_batch_size,
            "global_batch_size": plan.global_batch_size,
            "microbatches": plan.microbatches,
            "schedule": plan.schedule,
            "warmup": list(plan.warmup),
            "recompute": plan.recompute,
            "zero": plan.zero,
            "allreduce": plan.allreduce,
            "step_seconds": plan.step_seconds,
            "step_seconds_80": [plan.step_seconds_low, plan.step_seconds_high],
            "mfu": plan.mfu,
            "tokens_per_second": plan.tokens_per_second,
            "stages": [asdict(stage) for stage in plan.stages],
            "links": [_link(asdict(link)) for link in plan.links],
            "alternatives": [_alternative(asdict(alternative)) for alternative in plan.alternatives],
            "fallbacks": [asdict(fallback) for fallback in plan.fallbacks],
            "optimal": asdict(plan.optimal),
            "constraints": [asdict(price) for price in plan.constraints],
            "free_constraints": list(plan.free_constraints),
            "devices_left_over": [{"cluster": name, "devices": count} for name, count in plan.devices_left_over],
            "why": list(plan.why),
        }
    )


def _rounded(value: Any) -> Any:
    """Nine significant digits: more than any prediction holds, and the same text on every platform."""
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, dict):
        return {name: _rounded(item) for name, item in cast(dict[str, Any], value).items()}
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in cast(list[Any], value)]
    return value


def _alternative(alternative: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in alternative.items() if name != "stages"}


def _link(link: dict[str, Any]) -> dict[str, Any]:
    return {"from": link.pop("source"), "to": link.pop("target"), **link}
