"""Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434) and the sparse-attention indexer of DeepSeek-V3.2."""

from hyperflow.cost.shapes import latent_attention, linear
from hyperflow.inventory.hf_config import ConfigView
from hyperflow.inventory.hf_families.decoder import HEADS, Blocks, Flag, flag_of
from hyperflow.spec.model import Layer


def mla(
    *,
    class_query_rank: int | None = None,
    query_rank_required: bool = False,
    bias: Flag = "attention_bias",
    indexer: bool = False,
) -> Blocks:
    """Reader of latent attention. q_lora_rank null means a plain query projection; where the key is absent the class
    constant `class_query_rank` holds, which is not the same."""

    def read(view: ConfigView, hidden: int, number: int) -> list[Layer]:
        shared = shared_indexers(view, number) if indexer else []
        block = latent_block(view, hidden, class_query_rank, query_rank_required, bias, indexer)
        if not indexer:
            return [block] * number
        query_rank = block.attention.query_lora_rank if block.attention else None
        index = indexer_parameters(view, hidden, query_rank or hidden)
        indexed = block.model_copy(update={"mixer_parameters": block.mixer_parameters + index})
        return [block if reuses else indexed for reuses in shared]

    return read


def latent_block(
    view: ConfigView,
    hidden: int,
    class_query_rank: int | None = None,
    query_rank_required: bool = False,
    bias: Flag = "attention_bias",
    indexer: bool = False,
) -> Layer:
    """Latent attention; num_key_value_heads means nothing here and is not read."""
    view.used.add("num_key_value_heads")
    heads = view.count(*HEADS)
    query_rank: int | None = None
    if query_rank_required or view.given("q_lora_rank"):
        query_rank = view.count("q_lora_rank")
    elif view.present("q_lora_rank") is None and class_query_rank is not None:
        query_rank = view.count("q_lora_rank", class_default=class_query_rank)
    kv_rank, rope = view.count("kv_lora_rank"), view.count("qk_rope_head_dim", least=0)
    plain, value = view.count("qk_nope_head_dim", least=0), view.count("v_head_dim")
    view.require(plain + rope > 0, "qk_nope_head_dim", "a query head has no width at all")
    return latent_attention(
        hidden,
        heads,
        query_rank=query_rank,
        kv_rank=kv_rank,
        plain_dim=plain,
        rope_dim=rope if plain + rope else 1,
        value_dim=value,
        bias=flag_of(view, bias),
        window=view.optional("index_topk") if indexer else None,
    )


def indexer_parameters(view: ConfigView, hidden: int, query_rank: int) -> int:
    """Parameters of one sparse-attention indexer: queries, one shared key with its norm, weights per index head."""
    heads, width = view.count("index_n_heads"), view.count("index_head_dim")
    return linear(query_rank, heads * width) + linear(hidden, width) + 2 * width + linear(hidden, heads)


def shared_indexers(view: ConfigView, number: int) -> list[bool]:
    """Per layer whether it reuses the indexer of an earlier layer and has none of its own."""
    if view.given("indexer_types"):
        return [kind == "shared" for kind in view.texts("indexer_types", number, ("full", "shared"))]
    if view.given("index_topk_pattern"):
        view.refuse("index_topk_pattern", "only indexer_types says which layers have an indexer")
    step = view.count("index_topk_freq", absent=1, null=1)
    offset = view.count("index_skip_topk_offset", absent=2, null=2, least=0)
    return [max(index - offset + 1, 0) % step != 0 for index in range(number)]
