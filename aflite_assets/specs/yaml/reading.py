"""Safe reading of one YAML file as plain values, with variables filled in. The module `registry` finds and validates
the files.

The reader is stricter than PyYAML's safe loader. The reader also rejects tags, duplicate keys, keys that are not text,
several documents, and files that become very large when aliases are expanded. Dates, numbers with leading zeros and
numbers with colons are kept as text.
"""

import re
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NoReturn

import yaml
from pydantic import SecretStr

from aflite_assets.errors import SpecError
from aflite_assets.specs.encodings import UTF_8, fitting_encodings
from aflite_assets.specs.yaml.safe_text import BOOLEANS, shown_field, shown_key, shown_path
from aflite_assets.wording import truncate

_MOST_BYTES = 2**20
_MOST_VALUES = 100_000
_MOST_CHARACTERS = 2**22
"""Most characters of all keys and values, with aliases and variables expanded. A file without aliases and variables may
have a quarter of this.
"""
_TOO_LONG = f"have more than {_MOST_CHARACTERS} characters; no dataset needs that, so repeat long texts less often"
_DEEPEST = 50
_LONGEST = 200
_MERGE = "<<"

_NULLS = {"", "~", "null", "Null", "NULL"}
_BOOLEANS = {
    form: value
    for word, value in {"yes": True, "true": True, "on": True, "no": False, "false": False, "off": False}.items()
    for form in (word, word.capitalize(), word.upper())
}
# Up to 18 digits fit every integer there is; longer ones are names of something, and stay exact as text.
_INTEGER = re.compile(r"[-+]?(0|[1-9](_?[0-9]){0,17})")
# An exponent without a sign or a point could be part of a hash, such as 12e4567.
_FLOAT = re.compile(r"[-+]?(([0-9]+\.[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?|[0-9]+[eE][-+][0-9]+)")
_NO_NUMBER = re.compile(r"[-+]?\.(inf|Inf|INF|nan|NaN|NAN)")

_REMEDIES = {
    "mapping values are not allowed": "put text that contains ': ' in quotes, and check the indentation",
    "'\\t' that cannot start": "indent with spaces, not with tabs",
    "that cannot start any token": "put text that begins with this character in quotes",
    "undefined alias": "put text that begins with * in quotes, or define the name with & further up",
    "another document": "a file describes one dataset; remove the line --- and what follows, or make two files",
    "expected ',' or": "close the bracket; put text with a comma, a bracket or ${ in quotes",
    "end of stream": "close the quotes",
    "expected the node content": "write a value there, or close the bracket",
    "expected <block end>": "indent the keys of one mapping alike, and put text with quotes in it in quotes",
    "could not find expected ':'": "write a key, a colon and a space; put text on several lines in quotes",
    "unknown escape character": "write the text in single quotes, or double the backslash",
}

_FORMS = "write ${NAME}, ${NAME:-default} or ${secret:NAME}, or $${ for a literal ${"
_NAME = "[A-Za-z_][A-Za-z0-9_]*"
_SECRET = re.compile(rf"\$\{{secret:({_NAME})\}}")
# In this order: a literal dollar; a variable, whose default holds no further one; an opening that begins neither.
_DOLLAR = re.compile(rf"\$\$|\$\{{(?P<name>{_NAME})(?::-(?P<default>(?:[^}}$]|\$(?!\{{))*))?\}}|\$\{{")


def read_yaml(path: Path, *, environment: Mapping[str, str]) -> object:
    """Return the content of a YAML file: mappings with text keys, lists, text, numbers, booleans, None, and secrets.

    Aliases and merges (`<<`) create separate copies of values. `environment` provides the variables (see `fill_in`).
    After variables are filled in, an unquoted value is parsed as a YAML scalar. An unquoted value may become a number,
    but never a list or a mapping.

    Raises:
        SpecError: the file is unreadable or not allowed. The message contains the path and, if possible, the line
            number.
    """
    text = _text(path)
    root = _composed(path, text)
    reader = _Reader(path, environment)
    if root is None:
        return None
    reader.measure(root)
    return reader.value(root, ())


def _text(path: Path) -> str:
    content = _bytes(path)
    if len(content) > _MOST_BYTES:
        raise SpecError(
            f"{shown_path(path)}: the file is larger than 1 MiB, but a dataset's YAML file has a few kilobytes; name "
            "another file"
        )
    fit = next((f" (the file fits {encoding})" for encoding in fitting_encodings(content) if encoding != UTF_8), "")
    if content.count(0) and "utf" in fit:
        _refuse(path, 1, f"is not UTF-8{fit}; save the file as text in UTF-8")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        _refuse(path, line, f"byte {content[error.start]:#04x} is not UTF-8{fit}; save the file as text in UTF-8")


def _bytes(path: Path) -> bytes:
    """Read a file up to one byte beyond the allowed size, so that a larger file is detected. A pipe raises an error,
    because reading from a pipe might never end.
    """
    try:
        if stat.S_ISREG(path.stat().st_mode):
            with path.open("rb") as file:
                return file.read(_MOST_BYTES + 1)
        problem = f"is {'a folder' if path.is_dir() else 'not a regular file'}; a dataset is described in a text file"
    except FileNotFoundError:
        problem = "there is no such file; correct the name or the link"
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        problem = f"cannot be read: {reason}; correct the name or the permissions"
    raise SpecError(f"{shown_path(path)}: {problem}")


def _composed(path: Path, text: str) -> yaml.Node | None:
    forbidden = yaml.reader.Reader.NON_PRINTABLE.search(text)
    if forbidden:
        line = text.count("\n", 0, forbidden.start()) + 1
        _refuse(path, line, f"contains the character U+{ord(forbidden[0]):04X}, which YAML forbids; remove it")
    if yaml.__with_libyaml__:
        # Six times as fast. What it does not read is told below, in the words that the remedies know.
        with suppress(yaml.YAMLError, ValueError, OverflowError):
            return _root(_quick_composer()(text))
    composer = _Composer(text)
    try:
        return _root(composer)
    except yaml.MarkedYAMLError as error:
        _refuse(path, composer.line + 1 if error.problem_mark is None else error.problem_mark.line + 1, _syntax(error))
    except (ValueError, OverflowError) as error:  # an escape beyond all characters, a version of 5,000 digits
        _refuse(path, composer.line + 1, f"cannot be read as YAML: {truncate(str(error), _LONGEST)}")


def _root(composer: yaml.composer.Composer) -> yaml.Node | None:
    root: yaml.Node | None = composer.get_single_node()
    return root


def _syntax(error: yaml.MarkedYAMLError) -> str:
    """Return PyYAML's error message with the line number and a remedy. The message leaves out the text of the line,
    because the text may contain a secret.
    """
    problem = truncate(" ".join(filter(None, (error.context, error.problem))), _LONGEST)
    remedy = next((remedy for known, remedy in _REMEDIES.items() if known in problem), None)
    start, end = error.context_mark, error.problem_mark
    begun = f" (in the part that begins at line {start.line + 1})" if start and end and start.line != end.line else ""
    return f"{problem}{begun}; {remedy}" if remedy else f"{problem}{begun}"


class _Guarded:
    """A loader that raises an error for tags, and for nesting that would exhaust the stack, while it builds nodes."""

    _depth = 0
    _count = 0

    def compose_node(self, parent: yaml.Node | None, index: object) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[attr-defined]
        self._count += 1
        self._depth += 1
        problem = self._problem(getattr(event, "tag", None))
        if problem is not None:
            raise yaml.composer.ComposerError(None, None, problem, event.start_mark)
        node: yaml.Node | None = super().compose_node(parent, index)  # type: ignore[misc]
        self._depth -= 1
        return node

    def _problem(self, tag: str | None) -> str | None:
        if tag is not None:
            shown = truncate(tag.replace("tag:yaml.org,2002:", "!!"), _LONGEST)
            return f"the tag {shown} is not allowed; remove it, and put text in quotes"
        if self._depth > _DEEPEST:
            return f"is nested more than {_DEEPEST} deep; no dataset needs that"
        return f"is over {_MOST_VALUES} values; no dataset needs that" if self._count > _MOST_VALUES else None


class _Composer(_Guarded, yaml.SafeLoader):
    """PyYAML's safe loader, used only to build nodes."""


@cache
def _quick_composer() -> Callable[[str], yaml.composer.Composer]:
    """Return a loader that parses with libyaml (in C) and builds the nodes with PyYAML."""
    from yaml.cyaml import CParser  # type: ignore[attr-defined]

    class QuickComposer(_Guarded, yaml.composer.Composer, CParser, yaml.resolver.Resolver):
        def __init__(self, text: str) -> None:
            CParser.__init__(self, text)
            yaml.composer.Composer.__init__(self)
            yaml.resolver.Resolver.__init__(self)

    return QuickComposer


class _Reader:
    """A converter of YAML nodes to plain values. Error messages contain the location of a value."""

    def __init__(self, path: Path, environment: Mapping[str, str]) -> None:
        self._path = path
        self._environment = environment
        self._sizes: dict[int, tuple[int, int]] = {}
        self._open: set[int] = set()
        self._characters_left = _MOST_CHARACTERS

    def measure(self, node: yaml.Node) -> tuple[int, int]:
        """Return the number of values in a node after expanding aliases, and the depth of nesting."""
        if id(node) in self._open:
            self._refuse(node, (), "a value contains itself; remove the alias")
        if id(node) not in self._sizes:
            self._open.add(id(node))
            below = [self.measure(inner) for inner in _inner(node)]
            self._open.remove(id(node))
            size, depth = 1 + sum(size for size, _ in below), 1 + max((depth for _, depth in below), default=0)
            if size > _MOST_VALUES:
                self._refuse(node, (), f"expands to over {_MOST_VALUES} values; no dataset needs that")
            if depth > _DEEPEST:
                self._refuse(node, (), f"is nested more than {_DEEPEST} deep by aliases; no dataset needs that")
            self._sizes[id(node)] = (size, depth)
        return self._sizes[id(node)]

    def value(self, node: yaml.Node, place: tuple[str, ...]) -> object:
        """Return the plain value of a node. `place` contains the keys that lead to the node."""
        match node:
            case yaml.MappingNode():
                return self._mapping(node, place)
            case yaml.SequenceNode():
                return [self.value(item, (*place, str(number))) for number, item in enumerate(node.value)]
            case yaml.ScalarNode():
                return self._scalar(node, place)
        raise AssertionError(f"a YAML node is a mapping, a sequence or a scalar, but this is a {type(node).__name__}")

    def _mapping(self, node: yaml.MappingNode, place: tuple[str, ...]) -> dict[str, object]:
        own: dict[str, object] = {}
        merged: dict[str, object] | None = None
        for key_node, value_node in node.value:
            if _is_merge(key_node) and merged is None:
                merged = self._merged(value_node, place)
                continue
            key = self._key(key_node, place)
            if key in own or _is_merge(key_node):
                self._refuse(key_node, place, f"key {shown_key(key)!r} occurs twice; remove one")
            own[key] = self.value(value_node, (*place, key))
        return {**(merged or {}), **own}

    def _merged(self, node: yaml.Node, place: tuple[str, ...]) -> dict[str, object]:
        """Return the keys and values that a merge (`<<`) adds. If there are several mappings, the first mapping takes
        precedence.
        """
        mappings = node.value if isinstance(node, yaml.SequenceNode) else [node]
        merged: dict[str, object] = {}
        for mapping in reversed(mappings):
            if not isinstance(mapping, yaml.MappingNode):
                self._refuse(mapping, place, "<< needs a mapping or a list of mappings, such as <<: *name")
            merged |= self._mapping(mapping, place)
        return merged

    def _key(self, node: yaml.Node, place: tuple[str, ...]) -> str:
        if not isinstance(node, yaml.ScalarNode):
            self._refuse(node, place, "a key is a mapping or a list, but it must be text; write a name")
        if "${" in node.value:
            self._refuse(
                node, place, f"the key {shown_key(node.value)!r}: variables are allowed in values, but not in keys"
            )
        key = node.value if node.style else _plain(node.value)
        if not isinstance(key, str):
            why = f"; {BOOLEANS}" if isinstance(key, bool) else ""
            shown = "an empty key" if not node.value else f"the key {shown_key(node.value)}"
            self._refuse(node, place, f"{shown} must be text{why}; put it in quotes")
        return self._checked(key, node, place)

    def _scalar(self, node: yaml.ScalarNode, place: tuple[str, ...]) -> object:
        try:
            filled = fill_in(node.value, environment=self._environment)
        except SpecError as error:
            self._refuse(node, place, str(error))
        if isinstance(filled, SecretStr):
            self._checked(filled.get_secret_value(), node, place)
            return filled
        self._checked(filled, node, place)
        return filled if node.style else _plain(filled)

    def _checked(self, text: str, node: yaml.Node, place: tuple[str, ...]) -> str:
        self._characters_left -= len(text)
        if self._characters_left < 0:
            self._refuse(node, (), f"all keys and values up to here {_TOO_LONG}")
        try:
            text.encode()
        except UnicodeEncodeError:
            self._refuse(node, place, "contains an invalid character; write or set it as text in UTF-8")
        return text

    def _refuse(self, node: yaml.Node, place: tuple[str, ...], problem: str) -> NoReturn:
        _refuse(self._path, node.start_mark.line + 1, f"{shown_field(place)}: {problem}" if place else problem)


def _refuse(path: Path, line: int, problem: str) -> NoReturn:
    raise SpecError(f"{shown_path(path)}: line {line}: {problem}") from None


def _plain(text: str) -> object:
    """Convert an unquoted scalar to null, a boolean or a number, or return its text."""
    stripped = text.strip()
    if stripped in _NULLS:
        return None
    if stripped in _BOOLEANS:
        return _BOOLEANS[stripped]
    if _INTEGER.fullmatch(stripped):
        return int(stripped)
    if _FLOAT.fullmatch(stripped):
        return float(stripped)
    return float(stripped.replace(".", "").lower()) if _NO_NUMBER.fullmatch(stripped) else text


def _is_merge(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.value == _MERGE and not node.style


def _inner(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [inner for pair in node.value for inner in pair]
    return node.value if isinstance(node, yaml.SequenceNode) else []


def fill_in(text: str, *, environment: Mapping[str, str]) -> str | SecretStr:
    """Return `text` after replacing variables by their values and `$$` by `$`. If the whole text is `${secret:NAME}`,
    return a secret.

    As in shells, `${NAME:-default}` gives the default if the variable is not set or empty. Values are not expanded
    again, so a `${` inside a value is kept.

    Raises:
        SpecError: a variable is not set and has no default, `${` does not begin a variable, or the values are too long.
            The message never contains the value of a variable.
    """
    secret = _SECRET.fullmatch(text)
    if secret is None:
        return "".join(_filled(text, environment))
    name = secret[1]
    if not environment.get(name):
        raise SpecError(f"the environment variable `{name}` is not set or empty; set it to the secret before starting")
    return SecretStr(environment[name])


def _filled(text: str, environment: Mapping[str, str]) -> Iterator[str]:
    """Yield the pieces of a text after replacing variables by their values. The values of variables can be far longer
    than the file.
    """
    end = length = 0
    for match in _DOLLAR.finditer(text):
        value = _value(match, environment)
        length += len(value)
        if length > _MOST_CHARACTERS:
            raise SpecError(f"the values of the variables in this text {_TOO_LONG}")
        yield text[end : match.start()]
        yield value
        end = match.end()
    yield text[end:]


def _value(match: re.Match[str], environment: Mapping[str, str]) -> str:
    if match[0] == "$$":
        return "$"
    name, default = match["name"], match["default"]
    if name is None:
        raise SpecError(_malformed(match.string, match.start()))
    if default is not None:
        return environment.get(name) or default
    if name not in environment:
        raise SpecError(
            f"the environment variable `{name}` is not set; set it before starting, or write ${{{name}:-default}}"
        )
    return environment[name]


def _malformed(text: str, start: int) -> str:
    if _SECRET.match(text, start):
        return "${secret:...} must be the whole value, with nothing before or after it"
    if text.startswith("${secret:", start):
        return "${secret:...} must contain the name of one variable and no default; write ${secret:NAME}"
    return f"{truncate(text[start:], 40)!r} is not a valid variable; {_FORMS}"
