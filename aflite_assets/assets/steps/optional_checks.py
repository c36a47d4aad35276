"""Assets some of whose checks do not apply to every dataset: those are left out, and Dagster calls them skipped.

A plain `@dg.asset` must report every check that it declares; one that can be executed in part need not.
"""

import functools
import inspect
import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import dagster as dg

from aflite_assets.diagnostics.data_checks.context import NOT_APPLICABLE


def asset_with_optional_checks(**options: Any) -> Callable[[Callable[..., dg.MaterializeResult]], dg.AssetsDefinition]:
    """`@dg.asset(**options)` for a function that returns a MaterializeResult with every check.

    Checks whose result is "not applicable" are left out, unless they block: on those hangs whether what follows runs.
    Checks can be executed alone, which makes the result where it is missing and reports no materialisation.
    """
    of_spec = ("group_name", "kinds", "owners", "partitions_def", "deps", "code_version", "tags")
    blocking = {spec.name for spec in options["check_specs"] if spec.blocking}

    def decorate(compute: Callable[..., dg.MaterializeResult]) -> dg.AssetsDefinition:
        name = compute.__name__
        described = dg.AssetSpec(
            name, description=inspect.getdoc(compute), **{field: options[field] for field in of_spec}
        )

        @dg.multi_asset(
            name=name, specs=[described], check_specs=options["check_specs"], can_subset=True, pool=options["pool"]
        )
        @functools.wraps(compute)
        def run(context: dg.AssetExecutionContext, **resources: Any) -> Iterator[Any]:
            if not context.has_partition_key:
                raise dg.Failure(
                    f"no dataset was chosen, since Dagster asks for none when a check is run alone; materialise {name} "
                    "for the dataset whose checks you want: what was made before is found",
                    allow_retries=False,
                )
            result = compute(context, **resources)
            wanted = {key.name for key in context.selected_asset_check_keys}
            found = [one for one in result.check_results or () if one.check_name in wanted]
            checks = [one for one in found if one.check_name in blocking or applies(one.metadata)]
            if wanted == {one.check_name for one in found}:
                context.log.addFilter(_not_about_checks_left_out)
            if context.selected_asset_keys:
                yield result._replace(check_results=checks)
            else:
                yield from (check._replace(asset_key=dg.AssetKey(name)) for check in checks)

        return run

    return decorate


def _not_about_checks_left_out(record: logging.LogRecord) -> bool:
    """Dagster notes every check without an outcome as an output that it expected."""
    return "did not yield or return expected outputs" not in record.getMessage()


def applies(metadata: Mapping[str, Any]) -> bool:
    """Whether a check with these metadata looked at anything."""
    result = metadata.get("result")
    return not str(getattr(result, "value", result)).startswith(NOT_APPLICABLE)
