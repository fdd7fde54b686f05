"""The base of all records that hold what a user or a file said, and their numbers."""

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict
from pydantic_core import PydanticCustomError


class Record(BaseModel):
    """A frozen record that refuses unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def _no_truth(value: object) -> object:
    """Refuse True and False, which Python takes for 1 and 0: nobody means them as a number."""
    if isinstance(value, bool):
        raise PydanticCustomError("number", "a number")
    return value


def _no_truth_for_a_count(value: object) -> object:
    if isinstance(value, bool):
        raise PydanticCustomError("whole_number", "a whole number")
    return value


Whole = Annotated[int, BeforeValidator(_no_truth_for_a_count)]
Number = Annotated[float, BeforeValidator(_no_truth)]
