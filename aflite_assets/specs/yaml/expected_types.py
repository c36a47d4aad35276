"""Descriptions, in words, of the types that are allowed at a location of a YAML file. The module `messages` uses the
descriptions in error messages.
"""

from typing import Literal, get_args, get_origin

from aflite_assets.specs.yaml.annotations import entry_type, is_model, members, tag_key, tags
from aflite_assets.specs.yaml.safe_text import BOOLEANS
from aflite_assets.wording import did_you_mean

_WORDS: dict[object, str] = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
_SEVERAL: dict[object, str] = {str: "texts", int: "whole numbers", float: "numbers"}


def wish_of_kind(place: object, value: object) -> str:
    """For a value of a wrong type, return a description of the expected type, and a remedy."""
    alternatives = members(place)
    words = [member for member in alternatives if get_origin(member) is Literal]
    count = ", or ".join([_count_words(), *map(_word, words)])
    wish = f"must be {count if is_count(place) else _words(alternatives)}"
    if all(is_model(member) or get_origin(member) is dict for member in alternatives):
        return f"{wish}; write them below it as indented lines of `key: value`"
    takes_a_list = entry_type(place, tuple) is not None
    match value:
        case None:
            return f"{wish}; write it there"
        case bool() if str in alternatives:
            return f"{wish}; {BOOLEANS}; put it in quotes"
        case int() | float() if str in alternatives:
            return f"{wish}; put it in quotes"
        case str() | int() | float() if takes_a_list:
            return f"{wish}; write it as a list, in [ ]"
        case str() if is_count(place) and value.strip().replace(".", "", 1).isdigit():
            return f"{wish}; write it without quotes"
        case str():
            return wish + did_you_mean(value, _literals(alternatives))
    return wish


def is_count(place: object) -> bool:
    """Return True if the type is a number or share of rows. The type may allow certain words as well."""
    return {member for member in members(place) if get_origin(member) is not Literal} == {int, float}


def _count_words() -> str:
    return "a whole number of rows, or a share of them with a decimal point, over 0 and at most 1.0"


def _words(alternatives: list[object]) -> str:
    models = [member for member in alternatives if is_model(member)]
    words = [_word(member) for member in alternatives if member not in models]
    if len(models) == 1:
        words.append(f"a mapping with keys among {list(models[0].model_fields)}")
    elif models:
        key = tag_key(models)
        words.append(f"a mapping with the key {key!r}, one of {tags(models, key)}, and the keys that belong to it")
    return " or ".join(dict.fromkeys(words))


def _word(member: object) -> str:
    if get_origin(member) is dict:
        entries = members(get_args(member)[1])
        return "a mapping of names to " + (_count_words() if set(entries) == {int, float} else _words(entries))
    if get_origin(member) is tuple:
        entries = members(get_args(member)[0])
        several = [_SEVERAL[entry] for entry in entries if entry in _SEVERAL]
        return f"a list of {' or '.join(several) or ' and '.join(map(repr, _literals(entries)))}"
    if get_origin(member) is Literal:
        return f"one of {', '.join(map(repr, get_args(member)))}"
    return _WORDS.get(member, "another value")


def _literals(alternatives: list[object]) -> list[str]:
    return [choice for member in alternatives if get_origin(member) is Literal for choice in get_args(member)]
