"""DeepSeek-V4: one key/value head with compressed histories, grouped low-rank output, hyper-connections."""

from hyperflow.cost.shapes import assemble, linear, replicated
from hyperflow.inventory.hf_config import ConfigView
from hyperflow.inventory.hf_families.decoder import HEADS, HIDDEN, LAYERS, decoder
from hyperflow.inventory.hf_families.experts import moe
from hyperflow.spec.model import Attention, Layer, Model

_BY_RATIO = {0: "sliding", 4: "sparse", 128: "heavy"}
_LAYER_TYPES = {
    "sliding_attention": "sliding",
    "compressed_sparse_attention": "sparse",
    "heavily_compressed_attention": "heavy",
}


def read_deepseek_v4(view: ConfigView) -> Model:
    """Read DeepSeek-V4; layers differ by how they compress the tokens out of the window."""
    hidden, number = view.count(*HIDDEN), view.layers(*LAYERS)
    kinds = _compression(view, number)
    if view.count("n_shared_experts", absent=1) != 1:
        view.refuse("n_shared_experts", "another number of shared experts than one")
    experts = moe(shared=lambda view, width: width, plain_bias="mlp_bias")(view, hidden, number)[0]
    streams = view.count("hc_mult", class_default=4, most=1024)
    connection = (streams**2 + 2 * streams) * (streams * hidden + 1) + 3
    rest = replicated(2 * hidden + 2 * connection)
    built = {kind: assemble("moe", _attention(view, hidden, kind), experts, rest) for kind in sorted(set(kinds))}
    mtp_layers = view.count("num_nextn_predict_layers", absent=0, null=0, least=0, most=64)
    if mtp_layers:
        view.note_mtp("num_nextn_predict_layers")
    head = streams * streams * hidden + streams + 1
    return decoder(view, [built[kind] for kind in kinds], hidden=hidden, tied=False, extra=head, mtp_layers=mtp_layers)


def _compression(view: ConfigView, number: int) -> list[str]:
    if view.given("layer_types"):
        return [_LAYER_TYPES[kind] for kind in view.texts("layer_types", number, tuple(_LAYER_TYPES))]
    if not view.given("compress_ratios"):
        return ["heavy" if index < 2 or index % 2 == 0 else "sparse" for index in range(number)]
    mtp_layers = view.count("num_nextn_predict_layers", absent=0, null=0, least=0, most=64)
    entries = view.numbers("compress_ratios")
    ratios = view.numbers("compress_ratios", number + (mtp_layers if len(entries) == number + mtp_layers else 0))
    unknown = sorted(set(ratios) - set(_BY_RATIO))
    for ratio in unknown:
        view.refuse("compress_ratios", f"a ratio of {ratio}")
    return [_BY_RATIO.get(ratio, "sliding") for ratio in ratios[:number]]


def _attention(view: ConfigView, hidden: int, kind: str) -> Layer:
    heads, head_dim = view.count(*HEADS), view.count("head_dim")
    kv_heads = view.count("num_key_value_heads", class_default=1)
    view.require(kv_heads == 1, "num_key_value_heads", "DeepSeek-V4 has one key/value head")
    query_rank, groups, output_rank = view.count("q_lora_rank"), view.count("o_groups"), view.count("o_lora_rank")
    width = heads * head_dim
    view.require(width % groups == 0, "o_groups", f"{width} (heads * head_dim) is not a multiple of {groups} groups")
    query = linear(hidden, query_rank) + query_rank + linear(query_rank, width)
    key_value = linear(hidden, head_dim) + head_dim
    output = linear(width // groups, groups * output_rank) + linear(groups * output_rank, hidden)
    window = view.count("sliding_window", class_default=128)
    seen = window + (view.count("index_topk", class_default=512) if kind == "sparse" else 0)
    attention = Attention(
        kind="mla",
        heads=heads,
        kv_heads=1,
        head_dim=head_dim,
        query_lora_rank=query_rank,
        rope_head_dim=view.count("qk_rope_head_dim", absent=64, null=64, least=0),
        window=None if kind == "heavy" else seen,
    )
    parameters = heads + query + key_value + output + _compressor(view, hidden, head_dim, query_rank, kind)
    return Layer(attention=attention, mixer_parameters=parameters)


def _compressor(view: ConfigView, hidden: int, head_dim: int, query_rank: int, kind: str) -> int:
    if kind == "sliding":
        return 0
    if kind == "heavy":
        rate = view.part("compress_rates").count("heavily_compressed_attention", absent=128)
        return rate * head_dim + 2 * linear(hidden, head_dim) + head_dim
    rate = view.part("compress_rates").count("compressed_sparse_attention", absent=4)
    index_heads, index_dim = view.count("index_n_heads"), view.count("index_head_dim")
    indexer = (
        rate * 2 * index_dim
        + 2 * linear(hidden, 2 * index_dim)
        + index_dim
        + linear(query_rank, index_heads * index_dim)
        + linear(hidden, index_heads)
    )
    return rate * 2 * head_dim + 2 * linear(hidden, 2 * head_dim) + head_dim + indexer
