"""The GPT-3 generation: names and shapes of their own, learned positions, norms at unusual places."""

from hyperflow.cost.shapes import feed_forward, grouped_query_attention, linear, replicated
from hyperflow.inventory.hf_config import ConfigView
from hyperflow.inventory.hf_families.attention import by_window, check_groups, read_heads
from hyperflow.inventory.hf_families.decoder import HEADS, HIDDEN, LAYERS, POSITIONS, decoder, join
from hyperflow.json_tree import is_sequence
from hyperflow.spec.model import Layer, Model


def read_falcon(view: ConfigView) -> Model:
    """Falcon: new_decoder_architecture decides whether num_kv_heads counts, then multi_query means one."""
    hidden, heads, number = view.count(*HIDDEN), view.count(*HEADS), view.layers(*LAYERS)
    new = view.flag("new_decoder_architecture", absent=False)
    parallel = view.flag("parallel_attn", absent=True)
    kv_heads = view.count("num_kv_heads", "n_head_kv", absent=heads, null=heads)
    if not new and view.flag("multi_query", absent=True):
        kv_heads = 1
    check_groups(view, heads, kv_heads)
    view.require(hidden % heads == 0, "num_attention_heads", f"{hidden} is not a multiple of {heads} heads")
    bias = view.flag("bias", absent=False)
    width = view.count("ffn_hidden_size", absent=4 * hidden, null=4 * hidden)
    parallel_norms = view.count("num_ln_in_parallel_attn", absent=2 if new else 1, null=2 if new else 1)
    norms = (2 if new and parallel_norms == 2 else 1) if parallel else 2
    attention = grouped_query_attention(
        hidden, heads, kv_heads, max(hidden // heads, 1), qkv_bias=bias, output_bias=bias
    )
    dense = feed_forward(hidden, width, gated=False, bias=bias)
    layers = join([attention] * number, [dense] * number, replicated(2 * norms * hidden))
    return decoder(view, layers, hidden=hidden, tied=True, final_norm=2 * hidden)


def _multi_head(
    view: ConfigView, *, bias: bool = True, output_bias: bool | None = None, kv_heads: int | None = None
) -> tuple[int, int, Layer]:
    hidden = view.count(*HIDDEN)
    heads, read_kv, head_dim = read_heads(view, hidden, multi_head=True)
    number = view.layers(*LAYERS)
    block = grouped_query_attention(
        hidden,
        heads,
        kv_heads or read_kv,
        head_dim,
        qkv_bias=bias,
        output_bias=bias if output_bias is None else output_bias,
    )
    return hidden, number, block


def read_bloom(view: ConfigView) -> Model:
    """BLOOM: ALiBi, so no position table; a norm right behind the embedding."""
    hidden, number, attention = _multi_head(view)
    dense = feed_forward(hidden, 4 * hidden, gated=False, bias=True)
    layers = join([attention] * number, [dense] * number, replicated(4 * hidden))
    return decoder(view, layers, hidden=hidden, tied=True, final_norm=2 * hidden, extra=2 * hidden)


def read_opt(view: ConfigView) -> Model:
    """OPT: two more positions than max_position_embeddings; small embeddings are projected in and out."""
    bias = view.flag("enable_bias", absent=True)
    hidden, number, attention = _multi_head(view, bias=bias)
    dense = feed_forward(hidden, view.count("ffn_dim"), gated=False, bias=bias)
    norm = 2 * hidden if view.flag("layer_norm_elementwise_affine", absent=True) else 0
    before = view.flag("do_layer_norm_before", absent=True)
    has_final = before and not view.flag("_remove_final_layer_norm", absent=False)
    width = view.count("word_embed_proj_dim", absent=hidden, null=hidden)
    projections = 2 * linear(hidden, width) if width != hidden else 0
    return decoder(
        view,
        join([attention] * number, [dense] * number, replicated(2 * norm)),
        hidden=hidden,
        tied=True,
        embedding_width=width,
        final_norm=norm if has_final else 0,
        extra=(view.count(*POSITIONS) + 2) * hidden + projections,
    )


def read_biogpt(view: ConfigView) -> Model:
    """BioGPT: OPT's two extra positions, BERT's names."""
    hidden, number, attention = _multi_head(view)
    dense = feed_forward(hidden, view.count("intermediate_size"), gated=False, bias=True)
    layers = join([attention] * number, [dense] * number, replicated(4 * hidden))
    positions = (view.count(*POSITIONS) + 2) * hidden
    return decoder(view, layers, hidden=hidden, tied=True, final_norm=2 * hidden, extra=positions)


def read_gpt_bigcode(view: ConfigView) -> Model:
    """StarCoder (1): GPT-2 with one key/value head unless multi_query is false."""
    kv_heads = 1 if view.flag("multi_query", absent=True) else None
    view.used.add("num_key_value_heads")  # what the class writes, not what it reads
    hidden, number, attention = _multi_head(view, kv_heads=kv_heads)
    width = view.count("n_inner", "intermediate_size", absent=4 * hidden, null=4 * hidden)
    dense = feed_forward(hidden, width, gated=False, bias=True)
    layers = join([attention] * number, [dense] * number, replicated(4 * hidden))
    extra = view.count(*POSITIONS) * hidden
    return decoder(view, layers, hidden=hidden, tied=True, final_norm=2 * hidden, extra=extra)


def read_gpt_neo(view: ConfigView) -> Model:
    """GPT-Neo: no bias on queries, keys and values; every other layer is local by default."""
    hidden, number, attention = _multi_head(view, bias=False, output_bias=True)
    width = view.count("intermediate_size", absent=4 * hidden, null=4 * hidden)
    dense = feed_forward(hidden, width, gated=False, bias=True)
    assert attention.attention is not None
    whole, seen = attention.attention, view.count("window_size", absent=256, null=256)
    local = attention.model_copy(update={"attention": whole.model_copy(update={"window": seen})})
    is_local = _gpt_neo_local(view, number)
    blocks = by_window([seen if here else None for here in is_local], lambda window: local if window else attention)
    layers = join(blocks, [dense] * number, replicated(4 * hidden))
    extra = view.count(*POSITIONS) * hidden
    return decoder(view, layers, hidden=hidden, tied=True, final_norm=2 * hidden, extra=extra)


def _gpt_neo_local(view: ConfigView, number: int) -> list[bool]:
    if view.given("attention_layers"):
        return [kind == "local" for kind in view.texts("attention_layers", number, ("global", "local"))]
    kinds: list[bool] = []
    if view.given("attention_types"):
        for group in view.items("attention_types"):
            pair: list[object] = group if is_sequence(group) and len(group) == 2 else [[], 0]
            names, times = pair
            if not is_sequence(names) or not isinstance(times, int) or not 0 < times <= number:
                view.wrong("attention_types", group, "pairs of a list of kinds and a number of times")
                return [False] * number
            kinds += [name == "local" for name in names] * times
    else:
        kinds = [index % 2 == 1 for index in range(number)]
    view.require(len(kinds) == number, "attention_types", f"attention_types gives {len(kinds)} of {number} layers")
    return (kinds + [False] * number)[:number]


def read_mpt(view: ConfigView) -> Model:
    """MPT: no biases at all, ALiBi; variants with other options are not counted."""
    hidden, number, attention = _multi_head(view, bias=False)
    if not view.flag("no_bias", absent=True):
        view.refuse("no_bias", "MPT with biases")
    if view.values.get("expansion_ratio", 4) != 4:
        view.refuse("expansion_ratio", "a feed-forward width other than 4 * d_model")
    options = view.part("attn_config")
    if options.flag("qk_ln", absent=False):
        options.refuse("qk_ln", "norms of queries and keys")
    if not options.flag("alibi", absent=True):
        options.refuse("alibi", "a learned position table")
    view.used.add("expansion_ratio")
    dense = feed_forward(hidden, 4 * hidden, gated=False)
    layers = join([attention] * number, [dense] * number, replicated(2 * hidden))
    return decoder(view, layers, hidden=hidden, tied=True)
