"""The environment of all templates: what is put in is made safe, but what is marked as safe."""

from collections.abc import Callable

from jinja2 import Environment, PackageLoader, StrictUndefined

from aflite_assets.text import count, percent, value_text


def template_environment(safe: Callable[[str], str]) -> Environment:
    """Return an environment in which `safe` is applied to every text that is no Markup, which is then escaped."""
    environment = Environment(
        loader=PackageLoader("aflite_assets.reports.page"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: safe(value) if type(value) is str else value,  # Markup is no plain str
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"count": count, "percent": percent, "value_text": value_text}
    return environment
