"""The table of all families: model_type to reader."""

from collections.abc import Callable

from hyperflow.inventory.hf_config import ConfigView
from hyperflow.inventory.hf_families.dense_rows import DENSE_FAMILIES
from hyperflow.inventory.hf_families.moe_rows import MOE_FAMILIES
from hyperflow.spec.model import Model

Reader = Callable[[ConfigView], Model]

FAMILIES: dict[str, Reader] = {**DENSE_FAMILIES, **MOE_FAMILIES}
