"""The constructed orders against PyTorch's own generators, where PyTorch is installed."""

import pytest

from hyperflow.errors import InputError
from hyperflow.simulate.orders import order_for
from hyperflow.simulate.torch_csv import compute_only_csv

pytestmark = pytest.mark.local
_CLASSES = {
    "Interleaved1F1B": ("ScheduleInterleaved1F1B", 2),
    "LoopedBFS": ("ScheduleLoopedBFS", 2),
    "InterleavedZB": ("ScheduleInterleavedZeroBubble", 3),
    "ZB1P": ("ScheduleInterleavedZeroBubble", 1),
    "ZBVZeroBubble": ("ScheduleZBVZeroBubble", 2),
    "DualPipeV": ("ScheduleDualPipeV", 2),
}
_KINDS = {"FORWARD": "F", "BACKWARD_INPUT": "B", "BACKWARD_WEIGHT": "W", "FULL_BACKWARD": "BW"}


class _Stage:
    """As much of a pipeline stage as PyTorch's generators look at."""

    has_backward, group, device, submod = True, None, "cpu", None

    def __init__(self, index: int, ranks: int, stages: int) -> None:
        self.group_size, self.group_rank, self.stage_index, self.num_stages = ranks, 0, index, stages
        self.is_first, self.is_last = index == 0, index == stages - 1


def _actions(action) -> list[tuple[str, int, int]]:
    if action is None:
        return []
    if action.sub_actions:
        return [one for part in action.sub_actions for one in _actions(part)]
    return [(_KINDS[action.computation_type.name], action.stage_index, action.microbatch_index)]


@pytest.mark.parametrize("name", sorted(_CLASSES))
def test_orders_are_those_of_pytorch_and_so_are_the_refusals(name):
    schedules = pytest.importorskip("torch.distributed.pipelining.schedules", reason="PyTorch's orders not compared")
    class_name, chunks = _CLASSES[name]
    for ranks in (2, 3, 5):
        for microbatches in (3, 6, 10, 16):
            stages = [_Stage(chunk * ranks, ranks, chunks * ranks) for chunk in range(chunks)]
            try:
                theirs = getattr(schedules, class_name)(stages, microbatches).pipeline_order
            except ValueError:
                with pytest.raises(InputError):
                    order_for(name, ranks, microbatches, chunks, framework="torch")
                continue
            ours = order_for(name, ranks, microbatches, chunks, framework="torch")
            expected = [[one for action in theirs[rank] for one in _actions(action)] for rank in range(ranks)]
            assert [[tuple(operation) for operation in rank] for rank in ours.operations] == expected


def test_pytorch_reads_the_exported_file(tmp_path):
    schedules = pytest.importorskip("torch.distributed.pipelining.schedules", reason="the file not read by PyTorch")
    path = tmp_path / "order.csv"
    order = order_for("1F1B", 2, 4, warmup=(3, 1))
    path.write_text(compute_only_csv(order))
    runtime = schedules._PipelineScheduleRuntime([_Stage(0, 2, 2)], 4)
    runtime._load_csv(str(path), format="compute_only")
    read = [[one for action in runtime.pipeline_order[rank] for one in _actions(action)] for rank in range(2)]
    assert [[tuple(operation) for operation in rank] for rank in order.operations] == read
