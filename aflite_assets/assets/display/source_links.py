"""Links from assets to their source code, if `AFLITE_SOURCE_URL` is the address of the code."""

import inspect
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dagster as dg

from aflite_assets.addresses import SOURCE, base_address

_ROOT = Path(__file__).parents[3]
_KEY = "dagster/code_references"


def linked_to_source(definitions: Sequence[Any]) -> Sequence[Any]:
    """Return the definitions; if `AFLITE_SOURCE_URL` is set, each asset has a link to its function.

    `AFLITE_SOURCE_URL` is the address of the repository's folder on any host, such as
    https://github.com/<owner>/<repository>/blob/main. Dagster's own `link_code_references_to_git` supports only two
    hosts and no decorated functions.

    Raises:
        InvalidInputError: the value of `AFLITE_SOURCE_URL` is not a usable address.
    """
    base = base_address(SOURCE)
    return definitions if base is None else [_linked(definition, base) for definition in definitions]


def _linked(definition: Any, base: str) -> Any:
    """Add a link to its source code to an asset; return definitions without a function unchanged."""
    if not isinstance(definition, dg.AssetsDefinition):
        return definition
    compute: Any = definition.op.compute_fn
    function = inspect.unwrap(compute.decorated_fn)
    path = Path(inspect.getfile(function)).relative_to(_ROOT).as_posix()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dg.BetaWarning)
        page = dg.UrlCodeReference(url=f"{base}/{path}#L{inspect.getsourcelines(function)[1]}", label="source code")
        references = dg.CodeReferencesMetadataValue(code_references=[page])
    return definition.map_asset_specs(
        lambda spec: spec.replace_attributes(metadata={**spec.metadata, _KEY: references})
    )
