"""Not PyTorch: `torch.distributed.run` of this folder starts processes with the variables that torchrun would set.

For machines without PyTorch, so that the pipelines of this example run there: PYTHONPATH=without_torch.
"""
