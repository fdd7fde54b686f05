"""A packed function stands alone and gets arguments that fit it; what does not is told where it was written."""

import functools
import math
from typing import Literal

import pytest

import hyperflow as hf
from hyperflow.errors import InputError

STEPS = 3


def finding_of(call):
    with pytest.raises(InputError) as caught:
        call()
    (finding,) = caught.value.findings
    return finding


def run(packed):
    """Call the function as the pod does."""
    names = {"__name__": "hyperflow_packed"}
    exec(packed.source, names)
    return names[packed.name](**packed.arguments)


def annotated(steps: int, rate: float = 0.5, name: str | None = None, kind: Literal["a", "b"] = "a") -> math.nan:
    return steps, rate, name, kind


def test_annotations_of_the_signature_stay_behind_so_that_they_need_no_import_in_the_pod():
    assert run(hf.function(annotated, steps=3, rate=1, name=None, kind="b")) == (3, 1, None, "b")


def test_names_of_attributes_locals_and_functions_inside_are_the_functions_own():
    def alone(steps):
        import math as STEPS

        class Box:
            math = 2.0
            half = math / 2

        def inner(n):
            return alone(n - 1) if n > 0 else STEPS.floor(Box.half * Box.math)

        return [inner(step) for step in range(steps)]

    assert run(hf.function(alone, steps=2)) == [2, []]


def nested_global():
    def inner():
        return STEPS

    return inner()


def default_of_the_module(steps=STEPS):
    return steps


def not_imported():
    return torch.ones(1)  # noqa: F821


def relative():
    from . import sibling  # noqa: TID252

    return sibling


def closing():
    steps = 4

    def train():
        return steps

    return train


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (nested_global, "STEPS"),
        (default_of_the_module, "STEPS"),
        (not_imported, "torch"),
        (relative, ".sibling"),
        (closing(), "steps"),
    ],
)
def test_a_name_from_outside_is_found_wherever_it_stands(function, names):
    finding = finding_of(lambda: hf.function(function))
    assert (finding.code, finding.got) == ("HF117", names)
    assert finding.message == f"function {function.__name__!r} uses names that are not packed with it: {names}"


def without_source():
    names = {}
    exec("def train(): return 1", names)
    return names["train"]


async def later():
    return 1


@functools.wraps(later)
def wrapped():
    return 1


def decorated():
    @functools.wraps(nested_global)
    def train():
        return 1

    return train


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda: 1, "'<lambda>': it is no plain def"),
        (without_source(), "'train': its source cannot be read"),
        (later, "'later': it is no plain def"),
        (functools.cache(nested_global), "'nested_global': it is no function but of type _lru_cache_wrapper"),
        (len, "'len': it is no function but of type builtin_function_or_method"),
        (3, "'3': it is no function but of type int"),
        (decorated(), "'nested_global': its decorators would be lost"),
    ],
)
def test_what_is_no_plain_function_with_a_source_is_refused_with_the_reason(function, reason):
    finding = finding_of(lambda: hf.function(function))
    assert (finding.code, finding.message) == ("HF116", f"cannot pack {reason}")
    assert finding.hint == "define it with def, or use hf.torchrun with a script in the image"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"steps": [1]}, "'steps' of function 'annotated' is of type list, which cannot be written down"),
        ({"steps": object()}, "'steps' of function 'annotated' is of type object, which cannot be written down"),
        ({}, "'steps' of function 'annotated' is missing"),
        ({"steps": 1, "rates": 2}, "'rates' of function 'annotated' is not among its arguments"),
        ({"steps": "1"}, "'steps' of function 'annotated' is of the wrong type"),
        ({"steps": True}, "'steps' of function 'annotated' is of the wrong type"),
        ({"steps": 1, "rate": "fast"}, "'rate' of function 'annotated' is of the wrong type"),
        ({"steps": 1, "name": 2}, "'name' of function 'annotated' is of the wrong type"),
        ({"steps": 1, "kind": "c"}, "'kind' of function 'annotated' is of the wrong type"),
    ],
)
def test_an_argument_that_does_not_fit_is_named(arguments, told):
    finding = finding_of(lambda: hf.function(annotated, **arguments))
    assert (finding.code, finding.message) == ("HF129", f"argument {told}")


def test_a_wrong_argument_is_shown_where_it_is_written():
    with pytest.raises(InputError) as caught:
        hf.function(annotated, steps="many")
    assert str(caught.value).splitlines()[2:] == [
        f'  {caught.value.findings[0].span.line} |         hf.function(annotated, steps="many")',
        "      |                                      ^^^^^^ int",
        "  hint: give arguments as the function declares them",
    ]
    misspelt = finding_of(lambda: hf.function(annotated, steps=1, nam="x"))
    assert misspelt.hint == 'did you mean "name"?'
