"""torchtitan: flags, and a small config module that sets the modules of each model part.

Lists of lists do not pass its command line, so the bundle carries `hyperflow_config.py`: it takes the named config of
the named module and sets `module_fqns_per_model_part` from `model_parts.json`.
"""

import json

from hyperflow.catalog.targets import parse_version
from hyperflow.errors import raise_errors
from hyperflow.ir.plan import Plan
from hyperflow.ir.resolved import ResolvedJob
from hyperflow.lower.checkpoints import save_interval_steps
from hyperflow.lower.draft import LAUNCH_DIR
from hyperflow.lower.launch import LaunchRecipe, pod_file
from hyperflow.lower.owned_flags import merge_flags
from hyperflow.lower.schedule_file import FILE, needs_schedule_file
from hyperflow.lower.split_counts import data_parallel_clusters, layers_per_stage
from hyperflow.lower.storage import checkpoint_location, data_location
from hyperflow.lower.timeouts import comm_seconds
from hyperflow.lower.unsupported import check_choice
from hyperflow.lower.virtual_stages import schedule_key, split_into_parts
from hyperflow.spec.launch import ArgumentValue, TorchtitanLaunch

SCHEDULES = {
    "1f1b": "1F1B",
    "gpipe": "GPipe",
    "interleaved-1f1b": "Interleaved1F1B",
    "looped-bfs": "LoopedBFS",
    "zero-bubble": "InterleavedZeroBubble",
    "interleaved-zero-bubble": "InterleavedZeroBubble",
    "zb-v": "ZBVZeroBubble",
    "dualpipev": "DualPipeV",
}
REFUSED = {
    "parallelism.pipeline_parallel_first_stage_less_layers": "the model parts hold the split",
    "parallelism.pipeline_parallel_last_stage_less_layers": "the model parts hold the split",
    "parallelism.pipeline_parallel_layers_per_stage": "the model parts hold the split",
    "parallelism.module_fqns_per_model_part": "the model parts hold the split",
}
LAST_WITH_MICROBATCH_SIZE = "0.3.0"


def torchtitan_recipe(job: ResolvedJob, plan: Plan, launch: TorchtitanLaunch) -> LaunchRecipe:
    """Give the module, its flags and the config module.

    Raises InputError: HF404 for flags against the plan, HF405 for a schedule that torchtitan lacks.
    """
    key = schedule_key(plan.schedule)
    raise_errors(check_choice("torchtitan", "schedule", key, tuple(SCHEDULES), "parallel.schedule", job))
    planned = {**_degrees(plan), **_batch(job, plan, launch)}
    arguments, refused = merge_flags(job, planned, _defaults(job, plan), REFUSED)
    raise_errors(refused)
    if plan.degrees.pp == 1:
        config = ("--module", launch.module, "--config", launch.config)
        return LaunchRecipe(arguments=("-m", "torchtitan.train", *config, *arguments))
    parts = {"module": launch.module, "config": launch.config, "parts": model_parts(plan)}
    return LaunchRecipe(
        arguments=("-m", "torchtitan.train", "--module", "hyperflow_config", "--config", "planned", *arguments),
        pod_files={
            "hyperflow_config.py": pod_file("hyperflow_config.py"),
            "model_parts.json": json.dumps(parts, indent=1) + "\n",
        },
        variables={"PYTHONPATH": LAUNCH_DIR},
    )


def model_parts(plan: Plan) -> list[list[str]]:
    """Give the modules of each model part; every module of the model is in exactly one."""
    counts = split_into_parts(layers_per_stage(plan), plan.schedule, f"plan of {plan.job}")
    parts: list[list[str]] = []
    first = 0
    for count in counts:
        parts.append([f"layers.{index}" for index in range(first, first + count)])
        first += count
    parts[0].insert(0, "tok_embeddings")
    parts[-1] += ["norm", "lm_head"]
    return parts


def _degrees(plan: Plan) -> dict[str, ArgumentValue]:
    degrees = plan.degrees
    replicas = data_parallel_clusters(plan) if plan.allreduce == "hierarchical" else 1
    sharded = plan.zero > 0
    flags: dict[str, ArgumentValue] = {
        "parallelism.tensor_parallel_degree": degrees.tp,
        "parallelism.data_parallel_shard_degree": degrees.dp // replicas if sharded else 1,
        "parallelism.data_parallel_replicate_degree": replicas if sharded else degrees.dp,
        "parallelism.context_parallel_degree": degrees.cp,
        "parallelism.expert_parallel_degree": degrees.ep,
        "parallelism.pipeline_parallel_degree": degrees.pp,
    }
    if degrees.pp > 1:
        flags |= _schedule(plan)
        flags["training.disable_cuda_graphs"] = True
    return flags


def _schedule(plan: Plan) -> dict[str, ArgumentValue]:
    """The schedule by name, or the planned order by file where its warm-up hides a link."""
    if not needs_schedule_file(plan):
        return {"parallelism.pipeline_parallel_schedule": SCHEDULES[schedule_key(plan.schedule)]}
    return {
        "parallelism.pipeline_parallel_schedule": "PipelineScheduleSingle",
        "parallelism.pipeline_parallel_schedule_csv": f"{LAUNCH_DIR}/{FILE}",
    }


def _batch(job: ResolvedJob, plan: Plan, launch: TorchtitanLaunch) -> dict[str, ArgumentValue]:
    flags: dict[str, ArgumentValue] = {
        "training.local_batch_size": plan.micro_batch_size * (plan.microbatches if plan.degrees.pp > 1 else 1),
        "training.global_batch_size": plan.global_batch_size,
        "training.seq_len": job.model.sequence_length,
    }
    if plan.degrees.pp > 1:
        flags |= _microbatches(plan, launch)
    return flags


def _microbatches(plan: Plan, launch: TorchtitanLaunch) -> dict[str, ArgumentValue]:
    """The flag changed after 0.3.0: a size became a count."""
    version, last = parse_version(launch.version), parse_version(LAST_WITH_MICROBATCH_SIZE)
    if version is not None and last is not None and version <= last:
        return {"parallelism.pipeline_parallel_microbatch_size": plan.micro_batch_size}
    return {"parallelism.num_pp_microbatches": plan.microbatches}


def _defaults(job: ResolvedJob, plan: Plan) -> dict[str, ArgumentValue]:
    seconds = comm_seconds(job)
    flags: dict[str, ArgumentValue] = {
        "comm.init_timeout_seconds": seconds,
        "comm.train_timeout_seconds": seconds,
    }
    data, checkpoint = data_location(job), checkpoint_location(job)
    if data:
        flags["dataloader.dataset_path"] = data.inner
    if checkpoint:
        flags |= {
            "checkpoint.enable": True,
            "checkpoint.folder": checkpoint.inner,
            "checkpoint.interval": save_interval_steps(job, plan),
        }
    return flags
