"""Feed-forward blocks: dense, or routed experts with their shared experts, and which layers have which."""

from collections.abc import Callable

from hyperflow.cost import shapes
from hyperflow.inventory.hf_config import ConfigView
from hyperflow.inventory.hf_families.decoder import Blocks, Flag, flag_of
from hyperflow.json_tree import is_sequence
from hyperflow.spec.model import Layer

WIDTH = ("intermediate_size", "ffn_hidden_size", "ffn_dim", "n_inner")
EXPERTS = ("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts")
PER_TOKEN = ("num_experts_per_tok", "num_experts_per_token", "experts_per_token", "moe_topk", "moe_k", "top_k_experts")
EXPERT_WIDTH = ("moe_intermediate_size", "expert_ffn_hidden_size")

Sparse = Callable[[ConfigView, int], list[bool]]
"""Per layer whether it has routed experts."""

SharedWidth = Callable[[ConfigView, int], int]
"""The summed width of the shared experts, given the width of a routed one."""


def dense(
    *,
    gated: bool = True,
    bias: Flag = False,
    width: tuple[str, ...] = WIDTH,
    extra: Callable[[int], int] | None = None,
) -> Blocks:
    """Reader of one dense block for all layers; `extra` gives further parameters from the width."""

    def read(view: ConfigView, hidden: int, number: int) -> list[Layer]:
        wide = view.count(*width)
        return [_dense(hidden, wide, gated, flag_of(view, bias), extra(wide) if extra else 0)] * number

    return read


def four_times() -> Blocks:
    """Reader of a plain block with biases whose width is 4 * hidden where the key is absent or null."""

    def read(view: ConfigView, hidden: int, number: int) -> list[Layer]:
        width = view.count("n_inner", "intermediate_size", absent=4 * hidden, null=4 * hidden)
        return [_dense(hidden, width, False, True, 0)] * number

    return read


def _dense(hidden: int, width: int, gated: bool, bias: bool, extra: int) -> Layer:
    block = shapes.feed_forward(hidden, width, gated=gated, bias=bias)
    more = Layer(feed_forward_parameters=extra)
    return shapes.assemble("", block, more) if extra else block


def moe(
    *,
    width: tuple[str, ...] = EXPERT_WIDTH,
    dense_width: tuple[str, ...] = WIDTH,
    shared: SharedWidth | None = None,
    sparse: Sparse | None = None,
    bias: Flag = False,
    plain_bias: Flag = False,
    router_bias: bool = False,
    router_extra: bool = False,
    shared_gate: bool = False,
    class_per_token: int | None = None,
) -> Blocks:
    """Reader of routed experts; layers that are not `sparse` have a dense block of `dense_width`.

    `bias` is that of the routed experts, `plain_bias` that of dense and shared blocks. `router_extra` adds one
    learned number per expert (a selection bias that is a parameter, not a buffer).
    """

    def read(view: ConfigView, hidden: int, number: int) -> list[Layer]:
        count = view.count(*EXPERTS)
        active = view.count(*PER_TOKEN, class_default=class_per_token)
        check_active(view, active, count)
        one = view.count(*width)
        shared_width = shared(view, one) if shared else 0
        biased = flag_of(view, plain_bias)
        routed = shapes.routed_experts(
            hidden,
            one,
            count=count,
            active=active,
            shared_width=shared_width,
            bias=flag_of(view, bias),
            router_bias=router_bias,
            plain_bias=biased,
            shared_extra=hidden if shared_gate and shared_width else 0,
        )
        if router_extra:
            routed = shapes.assemble("", routed, shapes.replicated(count))
        is_sparse = sparse(view, number) if sparse else [True] * number
        if all(is_sparse):
            return [routed] * number
        plain = shapes.feed_forward(hidden, view.count(*dense_width), bias=biased)
        return [routed if here else plain for here in is_sparse]

    return read


def check_active(view: ConfigView, active: int, count: int) -> None:
    """Add a finding when a token uses more experts than there are."""
    key = next((name for name in PER_TOKEN if name in view.values), PER_TOKEN[0])
    view.require(active <= count, key, f"a token cannot use {active} of {count} experts")


def shared_times(*keys: str, absent: int = 0, null: int = 0) -> SharedWidth:
    """The number of shared experts under a key, each as wide as a routed one."""
    return lambda view, width: width * view.count(*keys, absent=absent, null=null, least=0)


def shared_key(key: str, absent: int | None = 0) -> SharedWidth:
    """The width of the shared experts under a key of its own; 0 or null: none."""
    return lambda view, width: view.count(key, absent=absent, null=0, least=0)


def after_dense_prefix(absent: int, *, null: int = 0, class_default: bool = False) -> Sparse:
    """The first first_k_dense_replace layers are dense, then moe_layer_freq says which have experts.

    `absent` and `null` are what such a first_k_dense_replace means; moe_layer_freq is a step, or a list of 0
    and 1 per layer that decides alone. mlp_layer_types, where given, decides before both.
    """

    def read(view: ConfigView, number: int) -> list[bool]:
        if view.given("mlp_layer_types"):
            kinds = view.texts("mlp_layer_types", number, ("dense", "sparse"))
            return [kind == "sparse" for kind in kinds]
        if is_sequence(view.values.get("moe_layer_freq")):
            return [bool(value) for value in view.numbers("moe_layer_freq", number)]
        step = view.count("moe_layer_freq", absent=1, null=1)
        if class_default:
            prefix = view.count("first_k_dense_replace", class_default=absent, null=null, least=0)
        else:
            prefix = view.count("first_k_dense_replace", absent=absent, null=null, least=0)
        return [index >= prefix and index % step == 0 for index in range(number)]

    return read


def given(sparse: list[bool]) -> Sparse:
    """Which layers are sparse is known already."""
    return lambda view, number: sparse


def qwen_sparse(view: ConfigView, number: int) -> list[bool]:
    """Qwen: every decoder_sparse_step-th layer that mlp_only_layers does not name."""
    step = view.count("decoder_sparse_step", absent=1, null=1)
    only_dense = set(view.numbers("mlp_only_layers")) if view.given("mlp_only_layers") else set[int]()
    return [index not in only_dense and (index + 1) % step == 0 for index in range(number)]
