"""`${VARIABLE}` in a value of a YAML file, filled in from an environment. Reading YAML is in `yaml_files`."""

import re
from collections.abc import Mapping

from pydantic import SecretStr

from aflite_assets.errors import SpecError
from aflite_assets.wording import truncate

_FORMS = "write ${NAME}, ${NAME:-default} or ${secret:NAME}, and $${ where the text itself has ${"
_NAME = "[A-Za-z_][A-Za-z0-9_]*"
_SECRET = re.compile(rf"\$\{{secret:({_NAME})\}}")
# In this order: a literal dollar; a variable, whose default holds no further one; an opening that begins neither.
_DOLLAR = re.compile(rf"\$\$|\$\{{(?P<name>{_NAME})(?::-(?P<default>(?:[^}}$]|\$(?!\{{))*))?\}}|\$\{{")


def fill_in(text: str, *, environment: Mapping[str, str]) -> str | SecretStr:
    """`text` with its variables' values, `$$` as one dollar; a secret where the whole text is `${secret:NAME}`.

    As in shells, `${NAME:-default}` gives the default for a variable that is not set or empty. Values are not looked
    at again: a `${` inside of one stays.

    Raises:
        SpecError: a variable is not set and has no default, or `${` begins no variable. No value is in the message.
    """
    secret = _SECRET.fullmatch(text)
    if secret is None:
        return _DOLLAR.sub(lambda found: _value(found, environment), text)
    name = secret[1]
    if not environment.get(name):
        raise SpecError(f"the environment variable {name} is not set or empty; set it to the secret before starting")
    return SecretStr(environment[name])


def _value(found: re.Match[str], environment: Mapping[str, str]) -> str:
    if found[0] == "$$":
        return "$"
    name, default = found["name"], found["default"]
    if name is None:
        raise SpecError(_malformed(found.string, found.start()))
    if default is not None:
        return environment.get(name) or default
    if name not in environment:
        raise SpecError(
            f"the environment variable {name} is not set; set it before starting, or write ${{{name}:-default}}"
        )
    return environment[name]


def _malformed(text: str, start: int) -> str:
    if _SECRET.match(text, start):
        return "${secret:...} must be the whole value, with nothing before or after it"
    if text.startswith("${secret:", start):
        return "${secret:...} takes the name of one variable and no default; write ${secret:NAME}"
    return f"{truncate(text[start:], 40)!r} is no variable; {_FORMS}"
