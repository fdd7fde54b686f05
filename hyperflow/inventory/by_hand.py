"""Models given by hand: a number of equal layers by shape, or one record per layer."""

from hyperflow.cost.shapes import decoder_of, dense_decoder, has_counts, with_counts
from hyperflow.errors import Finding, InputError, raise_errors
from hyperflow.inventory.hf_config import MAX_LAYERS
from hyperflow.spec.model import Layer, Model
from hyperflow.spec.training_job import ModelRequest

_NAME = "by-hand"
_SHAPES = ("hidden", "ffn", "heads", "kv_heads", "head_dim", "vocab", "gated", "tied")


def model_by_hand(request: ModelRequest) -> Model:
    """Give the model of `layers=` and the shapes beside it; raises InputError (HF161, HF152, HF156)."""
    layers = request.layers
    assert layers is not None
    needed = ("hidden", "vocab", "seq") if isinstance(layers, tuple) else ("hidden", "ffn", "heads", "vocab", "seq")
    findings = [_missing(name) for name in needed if getattr(request, name) is None]
    number = len(layers) if isinstance(layers, tuple) else layers
    if not 1 <= number <= MAX_LAYERS:
        findings.append(
            Finding(
                code="HF152",
                where="model: layers",
                message="layers is out of range",
                got=str(number),
                expected=f"1 to {MAX_LAYERS}",
            )
        )
    if isinstance(layers, tuple):
        findings += [fault for index, layer in enumerate(layers) for fault in _uncountable(index, layer)]
    raise_errors(findings)
    return _of_records(layers, request) if isinstance(layers, tuple) else _of_shapes(layers, request)


def _of_records(layers: tuple[Layer, ...], request: ModelRequest) -> Model:
    assert request.hidden and request.vocab and request.seq
    return decoder_of(
        [with_counts(layer, request.hidden) for layer in layers],
        name=_NAME,
        hidden=request.hidden,
        vocab=request.vocab,
        sequence_length=request.seq,
        tied=request.tied,
    )


def _uncountable(index: int, layer: Layer) -> list[Finding]:
    """What keeps a layer without counts from being counted by its shapes."""
    a, reason = layer.attention, ""
    if has_counts(layer):
        return []
    if layer.recurrence is not None:
        reason = "a recurrence has no standard shape: give mixer_parameters and the other counts"
    elif a is not None and a.kind == "mla" and (not a.kv_lora_rank or a.rope_head_dim >= a.head_dim):
        reason = "latent attention needs kv_lora_rank, and rope_head_dim below head_dim"
    elif a is None and layer.feed_forward is None and layer.experts is None:
        reason = "the layer has neither shapes nor counts"
    elif layer.experts is not None and layer.experts.active > layer.experts.count:
        reason = f"a token cannot use {layer.experts.active} of {layer.experts.count} experts"
    if not reason:
        return []
    return [
        Finding(code="HF156", where=f"model: layers[{index}]", message=reason, hint="see docs/how-to/add-a-model.md")
    ]


def _of_shapes(layers: int, request: ModelRequest) -> Model:
    assert request.hidden and request.ffn and request.heads and request.vocab and request.seq
    kv_heads = request.kv_heads or request.heads
    findings: list[Finding] = []
    if request.head_dim is None and request.hidden % request.heads:
        findings.append(
            Finding(
                code="HF156",
                where="model: heads",
                got=f"hidden={request.hidden}, heads={request.heads}",
                message="hidden is not a multiple of heads, so the width of a head is not known",
                hint="give head_dim=",
            )
        )
    if request.heads % kv_heads:
        findings.append(
            Finding(
                code="HF156",
                where="model: kv_heads",
                got=f"heads={request.heads}, kv_heads={kv_heads}",
                message="heads is not a multiple of kv_heads",
                hint="each key/value head serves equally many heads",
            )
        )
    raise_errors(findings)
    return dense_decoder(
        layers,
        name=_NAME,
        hidden=request.hidden,
        ffn=request.ffn,
        heads=request.heads,
        kv_heads=kv_heads,
        head_dim=request.head_dim or request.hidden // request.heads,
        vocab=request.vocab,
        sequence_length=request.seq,
        gated=request.gated,
        tied=request.tied,
    )


def _missing(name: str) -> Finding:
    return Finding(
        code="HF161",
        where=f"model: {name}",
        message=f"{name}= is missing beside layers=",
        expected="a whole number",
        hint="give hidden, ffn, heads, vocab and seq; with layer records: hidden, vocab and seq",
    )


def check_exactly_one_source(request: ModelRequest) -> None:
    """Raise InputError: HF160 unless exactly one of config, preset and layers is given, HF170 for a shape beside one.

    A config or preset states all shapes; one that is given too would be passed over.
    """
    given = [name for name in ("config", "preset", "layers") if getattr(request, name) is not None]
    if len(given) != 1:
        raise InputError(
            Finding(
                code="HF160",
                where="model",
                message="give exactly one of config=, preset= and layers=",
                got=", ".join(given) or "none of them",
                expected="one of them",
                hint='hf.model(config="config.json"), hf.model(preset="llama-3.1-8b") or hf.model(layers=8, ...)',
            )
        )
    idle = [name for name in _SHAPES if name in request.model_fields_set and getattr(request, name) is not None]
    if idle and request.layers is None:
        source = f"{given[0]}={getattr(request, given[0])!r}"
        raise InputError(
            Finding(
                code="HF170",
                where=f"@hf.model({idle[0]}=)",
                message=f"{', '.join(f'{name}=' for name in idle)} beside {source}, which states all shapes itself",
                got=", ".join(f"{name}={getattr(request, name)!r}" for name in idle),
                expected=f"{given[0]}= with seq= and precision= at most, or layers= with the shapes",
                hint=f"leave {', '.join(idle)} out, or give the model by hand: hf.model(layers=..., hidden=..., ...)",
            )
        )
