"""An order as PyTorch's compute-only schedule file: one row per rank, one cell per operation."""

from hyperflow.ir.timeline import PipelineOrder

_LETTERS = {"F": "F", "B": "I", "W": "W", "BW": "B"}  # PyTorch: I is the input gradient, B the whole backward


def compute_only_csv(order: PipelineOrder) -> str:
    """Give the text of the file; a cell is `<stage><operation><micro-batch>`, communication is left to PyTorch.

    torchtitan reads it with `pipeline_parallel_schedule_csv`, beside `pipeline_parallel_schedule` =
    PipelineScheduleSingle (one chunk per rank) or PipelineScheduleMulti.

    >>> from hyperflow.simulate.orders import order_for
    >>> print(compute_only_csv(order_for("1F1B", 2, 2)), end="")
    0F0,0F1,0B0,0B1
    1F0,1B0,1F1,1B1
    """
    rows = [
        ",".join(f"{operation.stage}{_LETTERS[operation.kind]}{operation.microbatch}" for operation in operations)
        for operations in order.operations
    ]
    return "\n".join(rows) + "\n"
