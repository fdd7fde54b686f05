"""NVIDIA's own shapes: Nemotron-H (blocks of one kind each) and Nemotron-NAS (every layer pruned differently)."""

from hyperflow.cost.recurrent_shapes import mamba2
from hyperflow.cost.shapes import assemble, feed_forward, grouped_query_attention, linear, replicated, routed_experts
from hyperflow.inventory.hf_config import ConfigView
from hyperflow.inventory.hf_families.decoder import HEADS, HIDDEN, LAYERS, decoder, kind_of
from hyperflow.inventory.hf_families.experts import EXPERTS, PER_TOKEN, check_active
from hyperflow.inventory.hf_families.hybrid import attention_block
from hyperflow.spec.model import Layer, Model

NEMOTRON_LETTERS = {"M": "mamba", "-": "mlp", "*": "attention", "E": "moe"}
_NEMOTRON_KINDS = ("mamba", "mlp", "attention", "moe", "linear_attention", "full_attention")


def read_nemotron_h(view: ConfigView) -> Model:
    """Nemotron-H: each block of the pattern is a layer of its own: Mamba-2, attention, dense or experts."""
    hidden = view.count(*HIDDEN)
    # The summed width of the shared experts has a key of its own; the other keys are of no use without E layers.
    view.used.update(("n_shared_experts", "n_routed_experts", "moe_intermediate_size", "moe_latent_size"))
    kinds = _nemotron_pattern(view)
    blocks = {kind: _nemotron_block(view, hidden, kind) for kind in sorted(set(kinds))}
    norm = replicated(hidden)
    built = {kind: assemble(kind_of(block), block, norm) for kind, block in blocks.items()}
    mtp_layers = view.count("num_nextn_predict_layers", absent=0, null=0, least=0, most=64)
    if mtp_layers:
        view.note_mtp("num_nextn_predict_layers")
    layers = [built[kind] for kind in kinds]
    return decoder(view, layers, hidden=hidden, tied=False, mtp_layers=mtp_layers)


def _nemotron_pattern(view: ConfigView) -> list[str]:
    declared = view.layers(*LAYERS) if view.given(*LAYERS) else None
    if view.given("layers_block_type"):
        kinds = view.texts("layers_block_type", declared, _NEMOTRON_KINDS)
        return [{"linear_attention": "mamba", "full_attention": "attention"}.get(kind, kind) for kind in kinds]
    return [NEMOTRON_LETTERS[letter] for letter in view.letters("hybrid_override_pattern", declared, NEMOTRON_LETTERS)]


def _nemotron_block(view: ConfigView, hidden: int, kind: str) -> Layer:
    bias = view.flag("mlp_bias", absent=False)
    if kind == "mamba":
        heads = view.count("mamba_num_heads")
        return mamba2(
            hidden,
            inner=heads * view.count("mamba_head_dim"),
            heads=heads,
            groups=view.count("n_groups", "mamba_n_groups"),
            state=view.count("ssm_state_size"),
            conv_width=view.count("conv_kernel", "mamba_d_conv", absent=4),
            conv_bias=view.flag("use_conv_bias", "mamba_conv_bias", absent=True),
            projection_bias=view.flag("use_bias", absent=False),
        )
    if kind == "attention":
        return attention_block(
            view,
            hidden,
            bias="attention_bias",
            output_bias="attention_bias",
            class_kv_heads=8,
            class_head_dim=128,
        )
    if kind == "mlp":
        return feed_forward(hidden, view.count("intermediate_size"), gated=False, bias=bias)
    return _nemotron_experts(view, hidden, bias)


def _nemotron_experts(view: ConfigView, hidden: int, bias: bool) -> Layer:
    count, active = view.count(*EXPERTS), view.count(*PER_TOKEN)
    check_active(view, active, count)
    return routed_experts(
        hidden,
        view.count("moe_intermediate_size"),
        count=count,
        active=active,
        shared_width=view.count("moe_shared_expert_intermediate_size", least=0),
        latent_width=view.optional("moe_latent_size"),
        gated=False,
        plain_bias=bias,
    )


def read_nemotron_nas(view: ConfigView) -> Model:
    """Nemotron-NAS (DeciLM): block_configs holds one entry per layer, whose parts may be absent or one linear map."""
    hidden, number, heads = view.count(*HIDDEN), view.layers(*LAYERS), view.count(*HEADS)
    view.require(hidden % heads == 0, "num_attention_heads", f"{hidden} is not a multiple of {heads} heads")
    layers: list[Layer] = []
    built: dict[str, Layer] = {}
    for index in range(len(view.items("block_configs", number))):
        block = view.part("block_configs", index)
        key = repr((block.values.get("attention"), block.values.get("ffn")))
        if key not in built:
            parts = [*_nas_attention(block, hidden, heads), *_nas_feed_forward(block, hidden)]
            built[key] = assemble(kind_of(*parts), *parts)
        layers.append(built[key])
    return decoder(view, layers, hidden=hidden, tied=False)


def _nas_attention(block: ConfigView, hidden: int, heads: int) -> list[Layer]:
    part = block.part("attention")
    if part.flag("no_op", absent=False):
        return []
    if part.flag("replace_with_linear", absent=False):
        return [Layer(mixer_parameters=linear(hidden, hidden)), replicated(hidden)]
    group = part.count("n_heads_in_group")
    part.require(
        heads % group == 0, "n_heads_in_group", f"{heads} heads are not a multiple of {group} heads in a group"
    )
    kv_heads = max(heads // group, 1)
    window = part.optional("window_length")
    attention = grouped_query_attention(hidden, heads, kv_heads, max(hidden // heads, 1), window=window)
    return [attention, replicated(hidden)]


def _nas_feed_forward(block: ConfigView, hidden: int) -> list[Layer]:
    part = block.part("ffn")
    if part.flag("no_op", absent=False):
        return []
    if part.flag("replace_with_linear", absent=False):
        return [Layer(feed_forward_parameters=linear(hidden, hidden)), replicated(hidden)]
    wanted = int(2 * part.ratio("ffn_mult") * hidden / 3)
    return [feed_forward(hidden, max(-(-wanted // 256) * 256, 1)), replicated(hidden)]
