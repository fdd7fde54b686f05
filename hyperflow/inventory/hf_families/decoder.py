"""What all families share: the frame of a decoder around its layers, and the usual reading of head widths."""

from collections.abc import Sequence
from pathlib import Path

from hyperflow.cost.shapes import linear, runs_of
from hyperflow.inventory.hf_config import ConfigView
from hyperflow.spec.model import Layer, Model

POSITIONS = ("max_position_embeddings", "n_positions", "seq_length", "max_sequence_length")


def decoder(
    view: ConfigView,
    layers: Sequence[Layer],
    *,
    hidden: int,
    tied: bool,
    vocab: int | None = None,
    sequence_length: int | None = None,
    final_norm: int | None = None,
    extra: int = 0,
    head_bias: bool = False,
    mtp_parameters: int = 0,
    mtp_layers: int = 0,
) -> Model:
    """A decoder with embedding, final norm (RMS unless given) and head; `tied` is the class default for an absent
    tie_word_embeddings, `extra` are other parameters outside the layers."""
    vocab = view.count("vocab_size") if vocab is None else vocab
    is_tied = view.flag("tie_word_embeddings", absent=tied)
    length = sequence_length or view.count(*POSITIONS, absent=2048, null=2048)
    head = 0 if is_tied else hidden * vocab
    return Model(
        name=Path(view.file).stem,
        hidden=hidden,
        vocab=vocab,
        sequence_length=length,
        runs=runs_of(layers),
        embedding_parameters=vocab * hidden,
        head_parameters=head + (vocab if head_bias else 0),
        other_parameters=(hidden if final_norm is None else final_norm) + extra,
        tied_embeddings=is_tied,
        mtp_parameters=mtp_parameters,
        mtp_layers=mtp_layers,
    )


def layer_norm(width: int, bias: bool = True) -> int:
    """Parameters of a LayerNorm: a weight and mostly a bias."""
    return linear(width, 1) + (width if bias else 0)
