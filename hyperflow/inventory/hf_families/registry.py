"""The table of families: model_type to reader."""

from collections.abc import Callable

from hyperflow.inventory.hf_config import ConfigView
from hyperflow.inventory.hf_families.llama import read_llama
from hyperflow.spec.model import Model

Reader = Callable[[ConfigView], Model]

FAMILIES: dict[str, Reader] = {
    "llama": read_llama,
}
