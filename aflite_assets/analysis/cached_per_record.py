"""A decorator that caches results per record, for as long as the record is alive: every page computes them once."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

_Record = TypeVar("_Record")
_Rest = ParamSpec("_Rest")
_Result = TypeVar("_Result")


def cached_per_record(
    function: Callable[Concatenate[_Record, _Rest], _Result],
) -> Callable[Concatenate[_Record, _Rest], _Result]:
    """Call `function` once per record (its first argument, by identity) and further arguments, which must be hashable.

    The result must not refer to the record, which would then never be freed.
    """
    known: WeakKeyDictionary[Any, dict[Any, Any]] = WeakKeyDictionary()

    @wraps(function)
    def call(record: _Record, *args: _Rest.args, **kwargs: _Rest.kwargs) -> _Result:
        results = known.setdefault(record, {})
        key = (args, tuple(sorted(kwargs.items())))
        if key not in results:
            results[key] = function(record, *args, **kwargs)
        result: _Result = results[key]
        return result

    return call
