"""Gemma 3n and Gemma 4: two widths of attention, layers that reuse keys and values, inputs per layer."""

from dataclasses import dataclass

from hyperflow.cost.shapes import assemble, feed_forward, linear, replicated, routed_experts
from hyperflow.inventory.hf_config import ConfigView
from hyperflow.inventory.hf_families.attention import check_groups
from hyperflow.inventory.hf_families.decoder import HEADS, HIDDEN, LAYERS, decoder, kind_of
from hyperflow.inventory.hf_families.experts import EXPERTS, PER_TOKEN, check_active
from hyperflow.inventory.hf_families.windows import sliding_layers
from hyperflow.json_tree import is_sequence
from hyperflow.spec.model import Attention, Layer, Model


@dataclass(frozen=True, slots=True, kw_only=True)
class _Heads:
    """Heads of one kind of layer; `reuses` has no keys and values of its own, `one` uses its keys as values."""

    heads: int
    kv_heads: int
    head_dim: int
    window: int | None
    reuses: bool
    one: bool = False

    def block(self, hidden: int, bias: bool) -> Layer:
        width, kv_width = self.heads * self.head_dim, self.kv_heads * self.head_dim
        parameters = linear(hidden, width, bias) + linear(width, hidden, bias) + self.head_dim
        if not self.reuses:
            parameters += (1 if self.one else 2) * linear(hidden, kv_width, bias) + self.head_dim
        attention = Attention(heads=self.heads, kv_heads=self.kv_heads, head_dim=self.head_dim, window=self.window)
        return Layer(attention=attention, mixer_parameters=parameters)


def read_gemma4(view: ConfigView) -> Model:
    """Gemma 4: full layers have heads of another width; keys may serve as values; dense and experts side by side."""
    hidden, number = view.count(*HIDDEN), view.layers(*LAYERS)
    sliding = sliding_layers(view, number, lambda index: (index + 1) % 6 != 0)
    sliding[-1] = False
    reusing = _reusing_layers(view, number, 0)
    kinds = [_gemma4_heads(view, *kind) for kind in zip(range(number), sliding, reusing, strict=True)]
    bias = view.flag("attention_bias", absent=False)
    wide = view.flag("use_double_wide_mlp", absent=False)
    width, experts = view.count("intermediate_size"), _gemma4_experts(view, hidden)
    inputs = view.count("hidden_size_per_layer_input", absent=256, null=0, least=0)
    norms = 4 + (3 if experts else 0) + (1 if inputs else 0)
    built: dict[_Heads, Layer] = {}
    for kind in dict.fromkeys(kinds):
        dense = feed_forward(hidden, width * (2 if wide and kind.reuses else 1))
        attention, rest = kind.block(hidden, bias), replicated(norms * hidden + 2 * hidden * inputs)
        parts = [attention, dense, *experts, rest]
        built[kind] = assemble(kind_of(*parts), *parts)
    return decoder(
        view,
        [built[kind] for kind in kinds],
        hidden=hidden,
        tied=True,
        class_vocab=262144,
        extra=_per_layer_inputs(view, hidden, number, inputs),
    )


def _gemma4_heads(view: ConfigView, index: int, slides: bool, reuses: bool) -> _Heads:
    heads = view.count(*HEADS)
    kv_heads = view.count("num_key_value_heads", class_default=4, null=heads)
    head_dim = view.count("head_dim", class_default=256)
    one = view.flag("attention_k_eq_v", absent=False)
    wide_kv = view.optional("num_global_key_value_heads")
    if view.given("per_layer_config"):  # what newer versions of the class write instead of the global_ keys
        layers = view.part("per_layer_config")
        own = layers.part(next((key for key in layers.values if key.lstrip("0") == str(index).lstrip("0")), str(index)))
        head_dim = own.count("head_dim", absent=head_dim)
        kv_heads = own.count("num_key_value_heads", absent=kv_heads)
    elif not slides:
        head_dim = view.count("global_head_dim", class_default=512)
        kv_heads = wide_kv if one and wide_kv is not None else kv_heads
    check_groups(view, heads, kv_heads)
    window = view.count("sliding_window", absent=512, null=512) if slides else None
    return _Heads(
        heads=heads, kv_heads=kv_heads, head_dim=head_dim, window=window, reuses=reuses, one=one and not slides
    )


def _gemma4_experts(view: ConfigView, hidden: int) -> list[Layer]:
    if not view.flag("enable_moe_block", absent=False):
        view.used.update((*EXPERTS, *PER_TOKEN, "moe_intermediate_size"))
        return []
    count, active, width = view.count(*EXPERTS), view.count(*PER_TOKEN), view.count("moe_intermediate_size")
    check_active(view, active, count)
    return [routed_experts(hidden, width, count=count, active=active), replicated(hidden + count)]


def _reusing_layers(view: ConfigView, number: int, class_shared: int) -> list[bool]:
    shared = view.count("num_kv_shared_layers", class_default=class_shared or None, absent=0, null=0, least=0)
    view.require(shared < number or shared == 0, "num_kv_shared_layers", "no layer is left with keys and values")
    return [index >= number - shared for index in range(number)]


def _per_layer_inputs(view: ConfigView, hidden: int, number: int, inputs: int) -> int:
    if not inputs:
        return 0
    table = view.count("vocab_size_per_layer_input", class_default=262144) * number * inputs
    return table + linear(hidden, number * inputs) + inputs


def read_gemma3n(view: ConfigView) -> Model:
    """Gemma 3n: AltUp streams, LAuReL branches and inputs per layer around Gemma 3's attention."""
    hidden, number = view.count(*HIDDEN), view.layers(*LAYERS)
    heads = view.count(*HEADS, class_default=8)
    kv_heads, head_dim = view.count("num_key_value_heads", class_default=2), view.count("head_dim", class_default=256)
    check_groups(view, heads, kv_heads)
    sliding = sliding_layers(view, number, lambda index: (index + 1) % 5 != 0)
    reusing = _reusing_layers(view, number, 15)
    window = view.count("sliding_window", absent=512, null=512)
    widths = _gemma3n_widths(view, number)
    bias = view.flag("attention_bias", absent=False)
    inputs = view.count("hidden_size_per_layer_input", class_default=256)
    streams = view.count("altup_num_inputs", class_default=4, most=64)
    rank = view.count("laurel_rank", class_default=64)
    altup = hidden + streams**2 + streams**3 + streams * hidden + hidden
    laurel = 2 * hidden * rank + hidden
    rest = replicated(5 * hidden + altup + laurel + 2 * hidden * inputs)
    layers: list[Layer] = []
    for slides, reuses, width in zip(sliding, reusing, widths, strict=True):
        kind = _Heads(
            heads=heads, kv_heads=kv_heads, head_dim=head_dim, window=window if slides else None, reuses=reuses
        )
        layers.append(assemble("dense", kind.block(hidden, bias), feed_forward(hidden, width), rest))
    extra = _per_layer_inputs(view, hidden, number, inputs) + 2 * (streams - 1) * hidden * hidden
    return decoder(view, layers, hidden=hidden, tied=True, class_vocab=262400, extra=extra)


def _gemma3n_widths(view: ConfigView, number: int) -> list[int]:
    if is_sequence(view.values.get("intermediate_size")):
        return view.numbers("intermediate_size", number, least=1)
    return [view.count("intermediate_size")] * number
