"""Megatron-LM: the plan and the model as its own flags."""

from hyperflow.errors import Finding, raise_errors
from hyperflow.ir.plan import Plan
from hyperflow.ir.resolved import ResolvedJob
from hyperflow.lower.checkpoints import save_interval_steps
from hyperflow.lower.launch import LaunchRecipe
from hyperflow.lower.megatron_layout import read_layout, write_layout
from hyperflow.lower.owned_flags import merge_flags
from hyperflow.lower.split_counts import data_parallel_clusters, expert_tensor_parallel, layers_per_stage
from hyperflow.lower.storage import checkpoint_location, data_location
from hyperflow.lower.timeouts import comm_seconds
from hyperflow.lower.unsupported import check_choice
from hyperflow.lower.virtual_stages import schedule_key, split_into_parts
from hyperflow.spec.launch import ArgumentValue, MegatronLaunch
from hyperflow.spec.model import Layer

SCHEDULES = ("1f1b", "interleaved-1f1b")
REFUSED = {
    "use-tp-pp-dp-mapping": "it interleaves the stages node by node, so every hop would cross clusters",
    "decoder-first-pipeline-num-layers": "the layout string holds the split",
    "decoder-last-pipeline-num-layers": "the layout string holds the split",
    "account-for-embedding-in-pipeline-split": "the layout string holds the split",
    "account-for-loss-in-pipeline-split": "the layout string holds the split",
    "num-layers-per-virtual-pipeline-stage": "the layout string holds the split",
    "num-virtual-stages-per-pipeline-rank": "the layout string holds the split",
}
Flags = dict[str, ArgumentValue]


def megatron_recipe(job: ResolvedJob, plan: Plan, launch: MegatronLaunch) -> LaunchRecipe:
    """Give the script and its flags.

    Raises InputError: HF404 for flags against the plan, HF405 for a schedule or sharding that Megatron lacks.
    """
    findings = check_choice("Megatron-LM", "schedule", schedule_key(plan.schedule), SCHEDULES, "parallel.schedule", job)
    findings += check_choice("Megatron-LM", "zero", str(plan.zero), ("0", "1"), "parallel.zero", job)
    raise_errors(findings)
    planned = {**_degrees(plan), **_split(plan, job), **_batch(plan, job), **_shape(job), **_state(plan)}
    arguments, refused = merge_flags(job, planned, _defaults(job, plan), REFUSED)
    raise_errors(refused)
    return LaunchRecipe(arguments=(launch.script, *arguments), findings=tuple(_notes(job)))


def _degrees(plan: Plan) -> Flags:
    degrees = plan.degrees
    flags: Flags = {
        "tensor-model-parallel-size": degrees.tp,
        "pipeline-model-parallel-size": degrees.pp,
    }
    if degrees.cp > 1:
        flags["context-parallel-size"] = degrees.cp
    if degrees.tp > 1:
        flags["sequence-parallel"] = True
    if degrees.ep > 1:
        flags["expert-model-parallel-size"] = degrees.ep
        flags["expert-tensor-parallel-size"] = expert_tensor_parallel(plan)
    return flags


def _split(plan: Plan, job: ResolvedJob) -> Flags:
    flags: Flags = {"num-layers": plan.num_layers}
    mtp = job.model.mtp_layers
    if mtp:
        flags["mtp-num-layers"] = mtp
    if plan.degrees.pp > 1:
        parts = split_into_parts(layers_per_stage(plan), plan.schedule, f"plan of {plan.job}")
        layout = write_layout(parts, mtp)
        assert read_layout(layout) == parts, f"the layout {layout} does not read back as {parts}"
        flags["pipeline-model-parallel-layout"] = layout
    return flags


def _batch(plan: Plan, job: ResolvedJob) -> Flags:
    return {
        "micro-batch-size": plan.micro_batch_size,
        "global-batch-size": plan.global_batch_size,
        "seq-length": job.model.sequence_length,
    }


def _shape(job: ResolvedJob) -> Flags:
    model = job.model
    layer = model.layers[0]
    flags: Flags = {"hidden-size": model.hidden}
    if layer.attention:
        attention = layer.attention
        flags["num-attention-heads"] = attention.heads
        if attention.kind == "mla":
            flags |= {
                "multi-latent-attention": True,
                "q-lora-rank": attention.query_lora_rank,
                "kv-lora-rank": attention.kv_lora_rank,
                "qk-head-dim": attention.head_dim - attention.rope_head_dim,
                "qk-pos-emb-head-dim": attention.rope_head_dim or None,
                "v-head-dim": attention.value_head_dim,
            }
        else:
            if attention.kv_heads != attention.heads:
                flags |= {"group-query-attention": True, "num-query-groups": attention.kv_heads}
            if attention.head_dim * attention.heads != model.hidden:
                flags["kv-channels"] = attention.head_dim
    return flags | _feed_forward(model.layers) | {"untie-embeddings-and-output-weights": not model.tied_embeddings}


def _feed_forward(layers: tuple[Layer, ...]) -> Flags:
    flags: Flags = {}
    dense = next((layer.feed_forward for layer in layers if layer.feed_forward), None)
    experts = next((layer.experts for layer in layers if layer.experts), None)
    if dense:
        flags["ffn-hidden-size"] = dense.width
    if (dense and dense.gated) or (experts and experts.gated):
        flags["swiglu"] = True
    if experts:
        flags |= {
            "num-experts": experts.count,
            "moe-router-topk": experts.active,
            "moe-ffn-hidden-size": experts.width,
            "moe-shared-expert-intermediate-size": experts.shared_width or None,
        }
        pattern = [int(layer.experts is not None) for layer in layers]
        if not all(pattern):
            flags["moe-layer-freq"] = _frequency(pattern)
    return flags


def _frequency(pattern: list[int]) -> str:
    """Write which layers are mixtures as Megatron reads it: ([0]*3+[1]*58)."""
    runs: list[list[int]] = []
    for kind in pattern:
        if runs and runs[-1][0] == kind:
            runs[-1][1] += 1
        else:
            runs.append([kind, 1])
    return "(" + "+".join(f"[{kind}]*{count}" for kind, count in runs) + ")"


def _state(plan: Plan) -> Flags:
    flags: Flags = {"use-distributed-optimizer": plan.zero > 0}
    if plan.recompute == "selective":
        flags["recompute-granularity"] = "selective"
    elif plan.recompute == "full":
        flags |= {"recompute-granularity": "full", "recompute-method": "uniform", "recompute-num-layers": 1}
    clusters = data_parallel_clusters(plan)
    if plan.allreduce == "hierarchical" and clusters > 1:
        flags["num-distributed-optimizer-instances"] = clusters
    return flags


def _defaults(job: ResolvedJob, plan: Plan) -> Flags:
    precision: dict[str, Flags] = {
        "bf16": {"bf16": True},
        "fp16": {"fp16": True},
        "fp8": {"bf16": True, "fp8-format": "hybrid"},
    }
    flags: Flags = dict(precision[job.job.model.precision])
    flags["max-position-embeddings"] = job.model.sequence_length
    flags["distributed-timeout-minutes"] = comm_seconds(job) // 60
    data, checkpoint = data_location(job), checkpoint_location(job)
    if data:
        flags["data-path"] = data.inner
    if checkpoint:
        flags |= {"save": checkpoint.inner, "load": checkpoint.inner, "save-interval": save_interval_steps(job, plan)}
    return flags


def _notes(job: ResolvedJob) -> list[Finding]:
    return [*_differing_layers(job), *_remote_checkpoint(job)]


def _remote_checkpoint(job: ResolvedJob) -> list[Finding]:
    checkpoint = checkpoint_location(job)
    if checkpoint is None or checkpoint.mount is not None or checkpoint.inner.startswith("msc://"):
        return []
    return [
        Finding(
            code="HF434",
            severity="note",
            message="Megatron-LM writes checkpoints to file systems; a URI needs storage support in the image",
            where="checkpoint.to",
            got=checkpoint.inner,
            hint="try one save first, or mount a claim: pvc://CLAIM/PATH",
            span=job.job.sources.get("checkpoint.to"),
        )
    ]


def _differing_layers(job: ResolvedJob) -> list[Finding]:
    kinds = {(layer.attention, layer.recurrence is not None) for layer in job.model.layers}
    if len(kinds) == 1:
        return []
    return [
        Finding(
            code="HF427",
            severity="warning",
            message=f"the layers of {job.model.name} differ in their mixers; Megatron's flags describe the first one",
            where="launch.args",
            hint="add the flags of that model family (windows, hybrid patterns) to hf.megatron(args=...)",
            span=job.job.sources.get("launch"),
        )
    ]
