"""The model to train: one record per layer, exact to the parameter.

Parameter counts are stored, not recomputed: the reader that knows a family's quirks fills them in once.
"""

from typing import Literal

from pydantic import Field

from hyperflow.spec.record import Record, Whole


class Attention(Record):
    """Self-attention of one layer; `mla` is multi-head latent attention with low-rank projections.

    `head_dim` is the width of a query/key head, `value_head_dim` that of a value head (None: the same). `window` is
    the number of tokens a query sees in sliding-window layers (None: all).
    """

    kind: Literal["gqa", "mla"] = "gqa"
    heads: Whole = Field(gt=0)
    kv_heads: Whole = Field(gt=0)
    head_dim: Whole = Field(gt=0)
    value_head_dim: Whole | None = None
    window: Whole | None = None
    query_lora_rank: Whole | None = None
    kv_lora_rank: Whole | None = None
    rope_head_dim: Whole = 0


class Recurrence(Record):
    """A Mamba or linear-attention mixer: work grows linearly with the sequence."""

    kind: Literal["mamba", "linear-attention"]
    inner_width: Whole = Field(gt=0)
    state_size: Whole = Field(gt=0)
    heads: Whole = Field(gt=0)
    conv_width: Whole = 0


class FeedForward(Record):
    """A dense feed-forward block; `gated` blocks have three matrices, plain ones two."""

    width: Whole = Field(gt=0)
    gated: bool = True


class Experts(Record):
    """Routed experts of one layer; `shared_width` is the summed width of the shared experts (0: none).

    `latent_width` is the width to which a token is projected before the routed experts see it (None: not at all).
    """

    count: Whole = Field(gt=0)
    active: Whole = Field(gt=0)
    width: Whole = Field(gt=0)
    shared_width: Whole = 0
    latent_width: Whole | None = Field(default=None, gt=0)
    gated: bool = True


class Layer(Record):
    """One layer: what it computes and how many parameters each part holds.

    `mixer_parameters` (attention or recurrence) and `feed_forward_parameters` (dense and shared experts) are divided
    by tensor parallelism, `expert_parameters` (all routed experts) by expert parallelism, and
    `replicated_parameters` (norms, routers) by neither. `active_expert_parameters` is the share one token uses.
    """

    kind: str = "transformer"
    attention: Attention | None = None
    recurrence: Recurrence | None = None
    feed_forward: FeedForward | None = None
    experts: Experts | None = None
    mixer_parameters: Whole = Field(default=0, ge=0)
    feed_forward_parameters: Whole = Field(default=0, ge=0)
    expert_parameters: Whole = Field(default=0, ge=0)
    active_expert_parameters: Whole = Field(default=0, ge=0)
    replicated_parameters: Whole = Field(default=0, ge=0)

    @property
    def parameters(self) -> int:
        """All parameters of the layer."""
        return self.active_parameters - self.active_expert_parameters + self.expert_parameters

    @property
    def active_parameters(self) -> int:
        """The parameters that one token uses."""
        return (
            self.mixer_parameters
            + self.feed_forward_parameters
            + self.active_expert_parameters
            + self.replicated_parameters
        )


class LayerRun(Record):
    """`count` equal layers in a row."""

    count: Whole = Field(gt=0)
    layer: Layer


class Model(Record):
    """A decoder: runs of layers between an embedding and a head.

    `head_parameters` is 0 where the head is tied to the embedding. `other_parameters` are the final norm, position
    tables and the like. `mtp_parameters` (multi-token prediction) are reported apart and not in the totals.
    """

    name: str
    hidden: int = Field(gt=0)
    vocab: int = Field(gt=0)
    sequence_length: int = Field(gt=0)
    runs: tuple[LayerRun, ...] = Field(min_length=1)
    embedding_parameters: int = Field(ge=0)
    head_parameters: int = Field(ge=0)
    other_parameters: int = Field(default=0, ge=0)
    tied_embeddings: bool = False
    mtp_parameters: int = Field(default=0, ge=0)
    mtp_layers: int = Field(default=0, ge=0)

    @property
    def layers(self) -> tuple[Layer, ...]:
        """One record per layer, in order."""
        return tuple(run.layer for run in self.runs for _ in range(run.count))

    @property
    def num_layers(self) -> int:
        """The number of layers."""
        return sum(run.count for run in self.runs)

    @property
    def outside_parameters(self) -> int:
        """Parameters outside the layers: embedding, untied head, final norm."""
        return self.embedding_parameters + self.head_parameters + self.other_parameters

    @property
    def total_parameters(self) -> int:
        """All parameters of the text stack; a tied head counts once, buffers and MTP do not."""
        return self.outside_parameters + sum(run.count * run.layer.parameters for run in self.runs)

    @property
    def active_parameters(self) -> int:
        """The parameters that one token uses."""
        return self.outside_parameters + sum(run.count * run.layer.active_parameters for run in self.runs)
