"""Which layers see only a window of tokens: it changes the work of attention, never the parameters."""

from collections.abc import Callable

from hyperflow.inventory.hf_config import ConfigView
from hyperflow.inventory.hf_families.attention import Windows

LAYER_KINDS = (
    "full_attention",
    "sliding_attention",
    "chunked_attention",
    "global",
    "local",
)


def all_layers(key: str = "sliding_window") -> Windows:
    """Every layer has the window, where there is one."""
    return lambda view, number: [view.optional(key)] * number


def where(slides: Callable[[int], bool], *keys: str) -> Windows:
    """Layers for which `slides(index)` holds have the window, unless layer_types says it layer by layer."""

    def read(view: ConfigView, number: int) -> list[int | None]:
        window = view.optional(*(keys or ("sliding_window",)))
        return [window if sliding else None for sliding in sliding_layers(view, number, slides)]

    return read


def sliding_layers(view: ConfigView, number: int, slides: Callable[[int], bool]) -> list[bool]:
    """Per layer whether it slides: as layer_types says, else by the family's pattern."""
    if view.given("layer_types"):
        kinds = view.texts("layer_types", number, LAYER_KINDS)
        return [kind not in ("full_attention", "global") for kind in kinds]
    return [slides(index) for index in range(number)]


def every(default: int, key: str = "sliding_window_pattern") -> Windows:
    """All but every n-th layer slide; `key` may hold another n."""

    def read(view: ConfigView, number: int) -> list[int | None]:
        step = view.count(key, absent=default, null=default) if not view.given("layer_types") else default
        return where(lambda index: (index + 1) % step != 0)(view, number)

    return read


def if_enabled(view: ConfigView, number: int) -> list[int | None]:
    """Qwen: only with use_sliding_window, and only from layer max_window_layers on."""
    if not view.flag("use_sliding_window", absent=False):
        return [None] * number
    first = view.count("max_window_layers", absent=28, null=28, least=0)
    return where(lambda index: index >= first)(view, number)
