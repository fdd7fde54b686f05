"""The decorators. They only collect: no file, no network, no solver is touched until a plan is asked for."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from hyperflow.dsl.draft import UNSET, collect, draft_of
from hyperflow.dsl.positions import keyword_spans, user_frame
from hyperflow.dsl.public_call import public
from hyperflow.spec.fleet import Cluster, Fleet, Link
from hyperflow.spec.model import Layer
from hyperflow.spec.training_job import TierConstraint

F = TypeVar("F", bound=Callable[..., Any])
Decorator = Callable[[F], F]
Degree = int | Literal["auto"]


@public("hf.model")
def model(
    *,
    config: str = UNSET,
    preset: str = UNSET,
    layers: int | Sequence[Layer] = UNSET,
    hidden: int = UNSET,
    ffn: int = UNSET,
    heads: int = UNSET,
    kv_heads: int = UNSET,
    head_dim: int = UNSET,
    vocab: int = UNSET,
    gated: bool = UNSET,
    tied: bool = UNSET,
    seq: int = UNSET,
    precision: str = UNSET,
    **unknown: object,
) -> Decorator[F]:
    """Declare the model by `config` (path of a Hugging Face config.json), by `preset`, or by shape.

    `seq` is the sequence length in tokens; `layers` is a count or explicit layer records.
    """
    values = {name: value for name, value in locals().items() if name != "unknown"}
    return collect("model", values, unknown)


@public("hf.data")
def data(
    *,
    path: str = UNSET,
    at: str | Sequence[str] = UNSET,
    cache: str = UNSET,
    **unknown: object,
) -> Decorator[F]:
    """Declare where the training data is: `path` (pvc://, s3:// or a host path), `at` which clusters, and caching."""
    names = (at,) if isinstance(at, str) and at != "all" else at
    return collect("data", {"path": path, "at": names, "cache": cache}, unknown)


@public("hf.parallel")
def parallel(
    *,
    tp: Degree = UNSET,
    cp: Degree = UNSET,
    ep: Degree = UNSET,
    pp: Degree = UNSET,
    dp: Degree = UNSET,
    micro_batch_size: Degree = UNSET,
    global_batch_size: int = UNSET,
    schedule: str = UNSET,
    recompute: str = UNSET,
    zero: int = UNSET,
    layers: Mapping[str, int | Sequence[int]] | Sequence[int] = UNSET,
    policy: str | Callable[..., object] = UNSET,
    allreduce: str = UNSET,
    **unknown: object,
) -> Decorator[F]:
    """Declare the degrees of parallelism (a number or "auto"), the batch in sequences, and the schedule (or "auto").

    `layers` fixes the split by hand: layers per cluster, or per stage.
    """
    values = {name: value for name, value in locals().items() if name != "unknown"}
    return collect("parallel", values, unknown)


@public("hf.topology")
def topology(*, job: TierConstraint = UNSET, stage: TierConstraint = UNSET, **unknown: object) -> Decorator[F]:
    """Declare how close the ranks of the job and of each stage must be: `hf.hard("rack")` or `hf.soft()`."""
    return collect("topology", {"job": job, "stage": stage}, unknown)


@public("hf.on")
def on(
    *where: Fleet | Cluster,
    links: Sequence[Link] = UNSET,
    rendezvous: str = UNSET,
    prefer: str = UNSET,
    max_rtt_ms: float = UNSET,
    **unknown: object,
) -> Decorator[F]:
    """Declare the fleet or the clusters that may be used, the links between them, and how ranks find each other."""
    values: dict[str, Any] = {
        "where": where,
        "links": links,
        "rendezvous": rendezvous,
        "prefer": prefer,
        "max_rtt_ms": max_rtt_ms,
    }
    return collect("on", values, unknown)


@public("hf.fallback")
def fallback(clusters: Mapping[str, Sequence[str]] | None = None, **by_name: Sequence[str]) -> Decorator[F]:
    """Declare, for a cluster, the clusters that may take its place, in order; `_` in a keyword stands for `-`."""
    # what is no mapping is stored under its own name, and told when the job is checked
    values: dict[str, Any] = {**clusters} if isinstance(clusters, Mapping) else {"clusters": clusters}
    values = {name: names for name, names in values.items() if names is not None}
    values |= {name.replace("_", "-"): names for name, names in by_name.items()}
    one = {name: (names,) if isinstance(names, str) else names for name, names in values.items()}
    return collect("fallback", one, {})


@public("hf.checkpoint")
def checkpoint(*, to: str = UNSET, every: str = UNSET, mtbf: str = UNSET, **unknown: object) -> Decorator[F]:
    """Declare where checkpoints go and how often (`20m`); `mtbf` is the mean time between failures (`6h`)."""
    return collect("checkpoint", {"to": to, "every": every, "mtbf": mtbf}, unknown)


@public("hf.guard")
def guard(
    *, on_partial_failure: str = UNSET, rendezvous_timeout: str = UNSET, health: str = UNSET, **unknown: object
) -> Decorator[F]:
    """Declare what happens when a part of the job fails or does not come up in time."""
    values = {"on_partial_failure": on_partial_failure, "rendezvous_timeout": rendezvous_timeout, "health": health}
    return collect("guard", values, unknown)


@public("hf.env")
def env(*, nccl: Mapping[str, Mapping[str, str]] = UNSET, **variables: str) -> Decorator[F]:
    """Set environment variables of the training process; `nccl` holds NCCL settings by cluster."""
    return collect("env", {"nccl": nccl, "variables": variables}, {})


@public("hf.patch")
def patch(path: str, value: object) -> Decorator[F]:
    """Set a value in the finished objects, after everything else; shown in explain as a user patch."""
    span = keyword_spans(user_frame()).get("")

    def decorate(function: F) -> F:
        draft = draft_of(function)
        # Decorators run from the bottom up; patches apply in the order in which they are read.
        draft.patches.insert(0, {"path": path, "value": value})
        if span:
            draft.spans[f"patch.{path}"] = span
        return function

    return decorate


@public("hf.hard")
def hard(tier: str | int) -> TierConstraint:
    """All ranks inside one domain of this tier (a name such as "rack", or a number)."""
    return TierConstraint(mode="hard", tier=tier)


@public("hf.soft")
def soft() -> TierConstraint:
    """Prefer low tiers, never wait for them."""
    return TierConstraint(mode="soft")
