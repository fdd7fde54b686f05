import pytest

import hyperflow as hf
from hyperflow.errors import HyperFlowError, InputError

OUTSIDE = 3


def lean(steps: int) -> int:
    import math

    return math.floor(steps * 1.5)


def leaning(steps: int) -> int:
    return steps * OUTSIDE


def test_a_function_that_stands_alone_is_packed_with_its_arguments():
    packed = hf.function(lean, steps=4)
    namespace = {}
    exec(packed.source, namespace)
    assert namespace[packed.name](**packed.arguments) == 6


def test_a_function_that_leans_on_outside_names_is_refused_by_name():
    with pytest.raises(InputError) as caught:
        hf.function(leaning, steps=4)
    finding = caught.value.findings[0]
    assert finding.code == "HF117"
    assert finding.message == "function 'leaning' uses names that are not packed with it: OUTSIDE"
    assert finding.hint == "import inside the function, and pass values as arguments of hf.function"


def test_a_function_without_source_is_refused():
    with pytest.raises(InputError) as caught:
        hf.function(len)
    finding = caught.value.findings[0]
    assert (finding.code, finding.where) == ("HF116", "hf.function(len)")
    assert finding.message.startswith("cannot pack 'len': ")


def test_a_job_that_returns_no_entry_point_is_told():
    @hf.job(name="toy", image="x")
    def train():
        return 42

    with pytest.raises(HyperFlowError) as caught:
        train.launch(None)
    finding = caught.value.findings[0]
    assert finding.code == "HF115"
    assert finding.message == "train() returns int, which is no entry point"
    assert finding.hint == "return one of them from the decorated function"
