"""A small GPT in plain PyTorch that trains by the plan in HF_*: stages over two clusters, data parallel inside.

    torchrun ... train.py [--steps N] every rank of the plan
    python train.py --single [--steps N]    the same training in one process, for comparison

Both print `step N loss X step_seconds S` with the mean loss over the global batch. Needs torch; runs on the CPU with
gloo.
"""

import argparse
import os
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe, ScheduleInterleavedZeroBubble
from torch.distributed.pipelining.schedules import _PipelineScheduleRuntime

VOCAB, HIDDEN, HEADS, SEQUENCE = 96, 48, 4, 24


class Block(nn.Module):
    """One transformer layer with causal attention."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(HIDDEN), nn.LayerNorm(HIDDEN)
        self.qkv, self.out = nn.Linear(HIDDEN, 3 * HIDDEN), nn.Linear(HIDDEN, HIDDEN)
        self.mlp = nn.Sequential(nn.Linear(HIDDEN, 4 * HIDDEN), nn.GELU(), nn.Linear(4 * HIDDEN, HIDDEN))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, HIDDEN))
        return x + self.mlp(self.norm2(x))


class Part(nn.Module):
    """A run of layers, with the embedding before the first and the head after the last."""

    def __init__(self, embedding: nn.Module | None, blocks: list[nn.Module], head: nn.Module | None) -> None:
        super().__init__()
        self.embedding, self.blocks, self.head = embedding, nn.ModuleList(blocks), head

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.embedding is not None:
            x = self.embedding(x)
        for block in self.blocks:
            x = block(x)
        return x if self.head is None else self.head(x)


def build(first: int, count: int, total: int) -> Part:
    """Build the whole model from one seed on every rank, and keep the layers of this stage."""
    torch.manual_seed(1234)
    embedding, head = nn.Embedding(VOCAB, HIDDEN), nn.Sequential(nn.LayerNorm(HIDDEN), nn.Linear(HIDDEN, VOCAB))
    blocks: list[nn.Module] = [Block() for _ in range(total)]
    last = first + count == total
    return Part(embedding if first == 0 else None, blocks[first : first + count], head if last else None)


def batch_of(step: int, size: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Generated text: each next token follows from the one before by a fixed rule, with some noise."""
    chance = torch.Generator().manual_seed(step)
    tokens = torch.empty(size, SEQUENCE + 1, dtype=torch.long)
    tokens[:, 0] = torch.randint(VOCAB, (size,), generator=chance)
    for i in range(SEQUENCE):
        noise = torch.randint(5, (size,), generator=chance)
        tokens[:, i + 1] = (tokens[:, i] * 7 + 3 + noise) % VOCAB
    return tokens[:, :-1], tokens[:, 1:]


def loss_of(logits: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    """Mean cross entropy over the tokens of one micro-batch."""
    return nn.functional.cross_entropy(logits.reshape(-1, VOCAB), wanted.reshape(-1))


def tell(step: int, loss: float, began: float) -> None:
    """Print the line of one step, which took from `began` until now."""
    print(f"step {step} loss {loss:.9f} step_seconds {time.perf_counter() - began:.4f}", flush=True)


def train_single(steps: int, layers: int, batch: int, microbatches: int) -> None:
    """The unsplit run: the same micro-batches, one after the other."""
    model = build(0, layers, layers)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(steps):
        began = time.perf_counter()
        inputs, wanted = batch_of(step, batch)
        losses = [
            loss_of(model(x), y) for x, y in zip(inputs.chunk(microbatches), wanted.chunk(microbatches), strict=True)
        ]
        loss = torch.stack(losses).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tell(step, loss.item(), began)


def schedule_for(stage: PipelineStage, name: str, microbatches: int, csv: str | None):
    """The schedule that the plan names, or the order in a file of compute operations."""
    if csv:
        runtime = _PipelineScheduleRuntime([stage], microbatches, loss_fn=loss_of)
        runtime._load_csv(csv, format="compute_only")
        return ask_early(runtime)
    if name == "gpipe":
        return ScheduleGPipe(stage, microbatches, loss_fn=loss_of)
    if name in ("zb-h1", "zero-bubble"):
        return ScheduleInterleavedZeroBubble([stage], microbatches, loss_fn=loss_of)
    return Schedule1F1B(stage, microbatches, loss_fn=loss_of)


def ask_early(runtime: _PipelineScheduleRuntime) -> _PipelineScheduleRuntime:
    """Let each rank ask for all it will receive when a step begins.

    gloo sends only what was asked for, so a late question costs one more trip over the link for each micro-batch.
    """
    for actions in runtime.pipeline_order_with_comms.values():
        actions.sort(key=lambda action: action.computation_type.name not in ("RECV_F", "RECV_B"))
    return runtime


def train_split(steps: int, csv: str | None) -> None:
    """Train this rank's stage. Ranks are ordered dp inside pp, so a stage's ranks are consecutive."""
    # a lost peer must end this process within the plan's time, so that all children restart and meet again
    patience = timedelta(seconds=int(os.environ["HF_COMM_TIMEOUT_SECONDS"]))
    dist.init_process_group("gloo", timeout=patience)
    rank, pp, dp = dist.get_rank(), int(os.environ["HF_PP"]), int(os.environ["HF_DP"])
    layers = [int(count) for count in os.environ["HF_LAYERS"].split(",")]
    microbatches, batch = int(os.environ["HF_MICROBATCHES"]), int(os.environ["HF_GLOBAL_BATCH_SIZE"])
    stage_index, replica = divmod(rank, dp)
    pipelines = [dist.new_group([s * dp + r for s in range(pp)], timeout=patience) for r in range(dp)]
    replicas = [dist.new_group([s * dp + r for r in range(dp)], timeout=patience) for s in range(pp)]
    part = build(sum(layers[:stage_index]), layers[stage_index], sum(layers))
    stage = PipelineStage(part, stage_index, pp, torch.device("cpu"), group=pipelines[replica])
    schedule = schedule_for(stage, os.environ.get("HF_SCHEDULE", "1f1b"), microbatches, csv)
    optimizer = torch.optim.AdamW(part.parameters(), lr=3e-3)
    last = stage_index == pp - 1
    for step in range(steps):
        began = time.perf_counter()
        inputs, wanted = (half.chunk(dp)[replica] for half in batch_of(step, batch))
        losses: list[torch.Tensor] = []
        optimizer.zero_grad()
        arguments = (inputs,) if stage_index == 0 else ()
        schedule.step(*arguments, target=wanted if last else None, losses=losses if last else None)
        for parameter in part.parameters():
            dist.all_reduce(parameter.grad, group=replicas[stage_index])
            parameter.grad /= dp
        optimizer.step()
        if last:
            loss = torch.stack(losses).mean()
            dist.all_reduce(loss, group=replicas[stage_index])
            if replica == 0:
                tell(step, loss.item() / dp, began)
    dist.barrier()
    dist.destroy_process_group()


def main() -> None:
    """Read the arguments and train."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--single", action="store_true")
    parser.add_argument("--order", default=os.environ.get("HF_SCHEDULE_FILE"), help="CSV of compute operations")
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--microbatches", type=int, default=8)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.single:
        train_single(arguments.steps, arguments.layers, arguments.batch, arguments.microbatches)
    else:
        train_split(arguments.steps, arguments.order)


if __name__ == "__main__":
    main()
