"""Attention of every vintage: multi-head, multi-query and grouped-query, with what families add to it."""

from collections.abc import Callable, Sequence
from typing import Literal

from hyperflow.cost.shapes import grouped_query_attention
from hyperflow.inventory.hf_config import ConfigView
from hyperflow.inventory.hf_families.decoder import HEADS, Blocks, Flag, flag_of
from hyperflow.spec.model import Layer

KV_HEADS = ("num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num")
HEAD_DIM = ("head_dim", "attention_head_dim", "kv_channels")

Windows = Callable[[ConfigView, int], list[int | None]]
"""Gives per layer the number of tokens that a query sees, None for all."""

NormKind = Literal["none", "head", "projection", "head-biased"]


def read_heads(
    view: ConfigView,
    hidden: int,
    *,
    class_heads: int | None = None,
    class_kv_heads: int | None = None,
    class_head_dim: int | None = None,
    multi_head: bool = False,
) -> tuple[int, int, int]:
    """Query heads, key/value heads and the width of a head.

    An absent number of key/value heads means as many as query heads, or the constant of the class; null always means
    as many as query heads, and `multi_head` families have no such key. An absent or null width of a head means
    hidden / heads, or (absent only) the constant of the class.
    """
    heads = view.count(*HEADS, class_default=class_heads)
    kv_heads = heads
    if not multi_head:
        kv_heads = view.count(*KV_HEADS, class_default=class_kv_heads, absent=heads, null=heads)
    head_dim = view.optional(*HEAD_DIM)
    if head_dim is None and class_head_dim is not None and view.present(*HEAD_DIM) is None:
        view.note_default(HEAD_DIM[0], class_head_dim)
        head_dim = class_head_dim
    if head_dim is None:
        view.require(
            hidden % heads == 0,
            "head_dim",
            f"head_dim is not given, and {hidden} (hidden size) is not a multiple of {heads} (heads)",
            hint="add head_dim as the model's own config.json has it",
        )
        head_dim = max(hidden // heads, 1)
    check_groups(view, heads, kv_heads)
    return heads, kv_heads, head_dim


def check_groups(view: ConfigView, heads: int, kv_heads: int) -> None:
    """Add a finding when the heads cannot be shared out equally over the key/value heads."""
    view.require(
        heads % kv_heads == 0,
        next((name for name in KV_HEADS if name in view.values), KV_HEADS[0]),
        f"{heads} attention heads are not a multiple of {kv_heads} key/value heads",
        hint="each key/value head serves equally many heads",
    )


def norm_parameters(kind: NormKind, heads: int, kv_heads: int, head_dim: int) -> int:
    """Norms of queries and keys: over one head, or over the whole projection."""
    sizes = {"none": 0, "head": 2 * head_dim, "head-biased": 4 * head_dim, "projection": (heads + kv_heads) * head_dim}
    return sizes[kind]


def gqa(
    *,
    qkv_bias: Flag = False,
    output_bias: Flag = False,
    norm: NormKind = "none",
    norm_if: Flag = True,
    class_heads: int | None = None,
    class_kv_heads: int | None = None,
    class_head_dim: int | None = None,
    multi_head: bool = False,
    windows: Windows | None = None,
    extra: Callable[[int, int, int, int], int] | None = None,
) -> Blocks:
    """Reader of grouped-query attention; `extra` gives further parameters from hidden, heads, kv_heads, head_dim."""

    def read(view: ConfigView, hidden: int, number: int) -> list[Layer]:
        heads, kv_heads, head_dim = read_heads(
            view,
            hidden,
            class_heads=class_heads,
            class_kv_heads=class_kv_heads,
            class_head_dim=class_head_dim,
            multi_head=multi_head,
        )
        more = norm_parameters(norm, heads, kv_heads, head_dim) if flag_of(view, norm_if) else 0
        more += extra(hidden, heads, kv_heads, head_dim) if extra else 0
        biased, out_biased = flag_of(view, qkv_bias), flag_of(view, output_bias)
        return by_window(
            windows(view, number) if windows else [None] * number,
            lambda window: grouped_query_attention(
                hidden, heads, kv_heads, head_dim, window=window, qkv_bias=biased, output_bias=out_biased, extra=more
            ),
        )

    return read


def by_window(windows: Sequence[int | None], block: Callable[[int | None], Layer]) -> list[Layer]:
    """One block per layer, built once per window."""
    built = {window: block(window) for window in dict.fromkeys(windows)}
    return [built[window] for window in windows]
