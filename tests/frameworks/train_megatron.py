"""A tiny GPT of megatron-core on the CPU with gloo, by the flags that HyperFlow gives to Megatron-LM.

Reads the flags by Megatron-LM's names and leaves the rest to megatron-core: its layout parser, rank groups, GPTModel
and pipeline schedule. Prints `rank R stage N layers A-B` and, where the last stage is, `step N loss X` as the mean over
the global batch. Weights depend on nothing but their names, so every split starts from the same model.
"""

import argparse
import zlib

import torch
from megatron.core import parallel_state
from megatron.core.models.gpt import GPTModel
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
from megatron.core.pipeline_parallel import get_forward_backward_func
from megatron.core.tensor_parallel.random import initialize_rng_tracker
from megatron.core.transformer import TransformerConfig
from torch import distributed as dist
from torch.overrides import TorchFunctionMode

VOCAB = 96
SIZES = (
    *("tensor-model-parallel-size", "pipeline-model-parallel-size", "num-layers", "hidden-size", "ffn-hidden-size"),
    *("num-attention-heads", "seq-length", "micro-batch-size", "global-batch-size", "train-iters"),
)


class OnTheCpu(TorchFunctionMode):
    """Take every device that is asked for to be the CPU: megatron-core names CUDA devices outright."""

    def __torch_function__(self, function, types, arguments=(), options=None):
        options = dict(options or {})
        if options.get("device") is not None:
            options["device"] = "cpu"
        return function(*arguments, **options)


def read_flags():
    """The flags that matter here. --sequence-parallel is passed over: megatron-core's norm without CUDA refuses it."""
    parser = argparse.ArgumentParser()
    for name in SIZES:
        parser.add_argument(f"--{name}", type=int, default=1)
    parser.add_argument("--pipeline-model-parallel-layout")
    return parser.parse_known_args()[0]


def build(flags):
    """This rank's part of the model, its layers numbered from 1."""
    config = TransformerConfig(
        num_layers=flags.num_layers,
        hidden_size=flags.hidden_size,
        ffn_hidden_size=flags.ffn_hidden_size,
        num_attention_heads=flags.num_attention_heads,
        tensor_model_parallel_size=flags.tensor_model_parallel_size,
        pipeline_model_parallel_size=flags.pipeline_model_parallel_size,
        pipeline_model_parallel_layout=flags.pipeline_model_parallel_layout,
        pipeline_dtype=torch.float32,
        hidden_dropout=0.0,
        attention_dropout=0.0,
        use_cpu_initialization=True,
        batch_p2p_comm=False,
        gradient_accumulation_fusion=False,
        masked_softmax_fusion=False,
    )
    return GPTModel(
        config=config,
        transformer_layer_spec=get_gpt_layer_local_spec(),
        vocab_size=VOCAB,
        max_sequence_length=flags.seq_length,
        pre_process=parallel_state.is_pipeline_first_stage(),
        post_process=parallel_state.is_pipeline_last_stage(),
        position_embedding_type="rope",
        share_embeddings_and_output_weights=False,
    )


def fill(model, offset):
    """Give each matrix values drawn from its name in the whole model, and this rank's share of them."""
    size, rank = parallel_state.get_tensor_model_parallel_world_size(), parallel_state.get_tensor_model_parallel_rank()
    for name, parameter in model.named_parameters():
        words = [str(int(word) + offset) if word.isdigit() else word for word in name.split(".")]
        chance = torch.Generator().manual_seed(zlib.crc32(".".join(words).encode()))
        shape, split = list(parameter.shape), getattr(parameter, "partition_dim", -1)
        shared = getattr(parameter, "tensor_model_parallel", False)
        if shared:
            shape[split] *= size
        if parameter.dim() > 1:
            whole = torch.randn(shape, generator=chance) * 0.1
            parameter.data.copy_(whole.chunk(size, split)[rank] if shared else whole)


def batches(step, flags, replicas, replica):
    """This replica's micro-batches of one step."""
    chance = torch.Generator().manual_seed(step)
    tokens = torch.randint(VOCAB, (flags.global_batch_size, flags.seq_length + 1), generator=chance)
    for piece in tokens.chunk(replicas)[replica].split(flags.micro_batch_size):
        yield piece[:, :-1], piece[:, 1:]


def train(flags):
    """Build, say which layers are here, and train."""
    model = build(flags)
    numbers = [layer.layer_number for layer in model.decoder.layers]
    stage = parallel_state.get_pipeline_model_parallel_rank()
    print(f"rank {dist.get_rank()} stage {stage} layers {numbers[0]}-{numbers[-1]}", flush=True)
    fill(model, numbers[0] - 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    replicas, replica = parallel_state.get_data_parallel_world_size(), parallel_state.get_data_parallel_rank()
    last, group = parallel_state.is_pipeline_last_stage(), parallel_state.get_data_parallel_group()
    mask = torch.triu(torch.ones(flags.seq_length, flags.seq_length, dtype=torch.bool), 1)[None, None]

    def forward(data, part):
        inputs, wanted = next(data)
        places = torch.arange(flags.seq_length)[None].expand_as(inputs)
        found = part(inputs, places, mask, labels=wanted if last else None)
        return found, lambda losses: (losses.mean(), losses.mean().detach())

    for step in range(flags.train_iters):
        optimizer.zero_grad()
        losses = get_forward_backward_func()(
            forward_step_func=forward,
            data_iterator=batches(step, flags, replicas, replica),
            model=[model],
            num_microbatches=flags.global_batch_size // flags.micro_batch_size // replicas,
            seq_length=flags.seq_length,
            micro_batch_size=flags.micro_batch_size,
            forward_only=False,
        )
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad, group=group)
            parameter.grad /= replicas
        optimizer.step()
        if last:
            loss = torch.stack(losses).mean() / replicas
            dist.all_reduce(loss, group=group)
            if replica == 0 and parallel_state.get_tensor_model_parallel_rank() == 0:
                print(f"step {step} loss {loss.item():.9f}", flush=True)


def main():
    """Join the ranks as Megatron-LM orders them and train."""
    flags = read_flags()
    torch.set_num_threads(1)
    torch.cuda.current_device = lambda: "cpu"
    torch.cuda.synchronize = lambda: None
    dist.init_process_group("gloo")
    parallel_state.initialize_model_parallel(
        tensor_model_parallel_size=flags.tensor_model_parallel_size,
        pipeline_model_parallel_size=flags.pipeline_model_parallel_size,
        order="tp-cp-ep-dp-pp",
    )
    initialize_rng_tracker(inference_rng_tracker=True)  # the other one asks CUDA for its state; nothing is dropped out
    with OnTheCpu():
        train(flags)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
