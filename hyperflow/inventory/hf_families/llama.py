"""Llama and what is shaped like it."""

from hyperflow.cost.shapes import assemble, feed_forward, grouped_query_attention, replicated
from hyperflow.inventory.hf_config import ConfigView
from hyperflow.inventory.hf_families.decoder import decoder
from hyperflow.spec.model import Model


def read_llama(view: ConfigView) -> Model:
    """Llama 1 to 3: grouped-query attention, gated feed-forward, two RMS norms; biases only where a key says so."""
    hidden, heads = view.count("hidden_size"), view.count("num_attention_heads")
    head_dim = view.optional("head_dim") or hidden // heads or 1
    bias = view.flag("attention_bias", absent=False)
    kv_heads = view.count("num_key_value_heads", absent=heads, null=heads)
    layer = assemble(
        "dense",
        grouped_query_attention(hidden, heads, kv_heads, head_dim, qkv_bias=bias, output_bias=bias),
        feed_forward(hidden, view.count("intermediate_size"), bias=view.flag("mlp_bias", absent=False)),
        replicated(2 * hidden),
    )
    return decoder(view, [layer] * view.layers(), hidden=hidden, tied=False)
