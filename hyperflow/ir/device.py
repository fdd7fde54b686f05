"""Facts of one accelerator, as the catalogue states them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One accelerator type.

    Units: FLOP/s for dense matrix multiplication, bytes for memory, bytes per second one way for links. `aliases`
    are other spellings that readers meet; `uncertain` names fields whose source is weak.
    """

    name: str
    vendor: str
    peak_flops_bf16: float
    peak_flops_fp8: float | None
    memory_bytes: int
    memory_bytes_per_second: float
    scaleup_bytes_per_second: float
    scaleup_domain: int
    network_bytes_per_second: float
    resource: str
    aliases: tuple[str, ...] = ()
    uncertain: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
