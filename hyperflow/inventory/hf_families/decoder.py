"""The frame that all families share: equal or unequal layers between an embedding, a final norm and a head."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hyperflow.cost.shapes import assemble, replicated, runs_of
from hyperflow.inventory.hf_config import ConfigView
from hyperflow.spec.model import Layer, Model

HIDDEN = ("hidden_size", "n_embd", "n_embed", "d_model")
LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads", "attention_heads")
VOCAB = ("vocab_size", "padded_vocab_size")
POSITIONS = ("max_position_embeddings", "n_positions", "seq_length", "max_seq_len", "max_sequence_length", "n_ctx")

Flag = bool | str | tuple[str, bool]
"""A truth that a family fixes, or the key that holds it (absent: false, or as the pair says)."""

Blocks = Callable[[ConfigView, int, int], list[Layer]]
"""Reads one part of every layer; its arguments are the view, the hidden size and the number of layers."""

SEQUENCE_WITHOUT_KEY = 2048


def flag_of(view: ConfigView, flag: Flag) -> bool:
    """The truth of a flag in this config."""
    if isinstance(flag, bool):
        return flag
    return view.flag(flag, absent=False) if isinstance(flag, str) else view.flag(flag[0], absent=flag[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A family as a table row: how attention and feed-forward are read, and what stands around them.

    `norms` is the number of norms of the hidden width in a layer, `norm_bias` whether they (and the final norm) have
    a bias, `final_norm` the number of final norms. `tied` is the class default for an absent tie_word_embeddings.
    """

    attention: Blocks
    feed_forward: Blocks
    norms: int | Callable[[ConfigView], int] = 2
    norm_bias: Flag = False
    final_norm: int = 1
    tied: bool = False
    head_bias: Flag = False
    class_vocab: int | None = None
    positions: bool = False
    mtp_key: str | None = None

    def __call__(self, view: ConfigView) -> Model:
        """Read the config."""
        hidden, number = view.count(*HIDDEN), view.layers(*LAYERS)
        attention = self.attention(view, hidden, number)
        feed_forward = self.feed_forward(view, hidden, number)
        norm = hidden * (2 if flag_of(view, self.norm_bias) else 1)
        norms = self.norms if isinstance(self.norms, int) else self.norms(view)
        layers = join(attention, feed_forward, replicated(norms * norm))
        mtp_layers = view.count(self.mtp_key, absent=0, null=0, least=0, most=64) if self.mtp_key else 0
        return decoder(
            view,
            layers,
            hidden=hidden,
            tied=self.tied,
            class_vocab=self.class_vocab,
            final_norm=self.final_norm * norm,
            extra=view.count(*POSITIONS) * hidden if self.positions else 0,
            head_bias=flag_of(view, self.head_bias),
            mtp_layers=mtp_layers,
            mtp_parameters=mtp_layers * mtp_parameters(hidden, layers[-1]),
        )


def join(attention: Sequence[Layer], feed_forward: Sequence[Layer], *rest: Layer) -> list[Layer]:
    """Assemble layers from one block of each kind per layer; equal pairs are built once."""
    built: dict[tuple[int, int], Layer] = {}
    layers: list[Layer] = []
    for mixer, dense in zip(attention, feed_forward, strict=True):
        key = (id(mixer), id(dense))
        if key not in built:
            built[key] = assemble(kind_of(mixer, dense), mixer, dense, *rest)
        layers.append(built[key])
    return layers


def kind_of(*blocks: Layer) -> str:
    """Name a layer after its parts: dense, moe, mamba, linear-attention+moe and the like."""
    recurrence = next((block.recurrence.kind for block in blocks if block.recurrence), None)
    attends = any(block.attention for block in blocks)
    parts = [recurrence] if recurrence else []
    if any(block.experts for block in blocks):
        parts.append("moe")
    elif any(block.feed_forward for block in blocks):
        parts.append("dense" if attends or recurrence else "mlp")
    elif attends:
        parts.append("attention")
    return "+".join(parts) or "empty"


def mtp_parameters(hidden: int, layer: Layer) -> int:
    """One multi-token-prediction module: a layer, a projection of two hidden states to one, and three norms.

    Embedding and head are shared with the model and not counted (DeepSeek-V3 report, arXiv 2412.19437, section 2.2).
    """
    return layer.parameters + 2 * hidden * hidden + 3 * hidden


def sequence_length(view: ConfigView) -> int:
    """The longest sequence that the config states; where it states none, a common one, with a note (HF168)."""
    if view.given(*POSITIONS):
        return view.count(*POSITIONS)
    view.add(
        "HF168",
        f"the config states no sequence length, {SEQUENCE_WITHOUT_KEY} tokens are assumed",
        key=POSITIONS[0],
        severity="note",
        hint="say what you train with: hf.model(..., seq=)",
    )
    return SEQUENCE_WITHOUT_KEY


def decoder(
    view: ConfigView,
    layers: Sequence[Layer],
    *,
    hidden: int,
    tied: bool,
    class_vocab: int | None = None,
    embedding_width: int | None = None,
    final_norm: int | None = None,
    extra: int = 0,
    head_bias: bool = False,
    mtp_parameters: int = 0,
    mtp_layers: int = 0,
) -> Model:
    """Put embedding, final norm (one RMS norm unless given) and head around the layers.

    `tied` is the class default for an absent tie_word_embeddings; `extra` are other parameters outside the layers.
    """
    vocab = view.count(*VOCAB, class_default=class_vocab)
    is_tied = view.tied(absent=tied)
    table = vocab * (embedding_width or hidden)
    return Model(
        name=view.file,
        hidden=hidden,
        vocab=vocab,
        sequence_length=sequence_length(view),
        runs=runs_of(layers),
        embedding_parameters=table,
        head_parameters=(0 if is_tied else table) + (vocab if head_bias else 0),
        other_parameters=(hidden if final_norm is None else final_norm) + extra,
        tied_embeddings=is_tied,
        mtp_parameters=mtp_parameters,
        mtp_layers=mtp_layers,
    )
