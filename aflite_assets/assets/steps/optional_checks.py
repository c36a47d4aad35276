"""Assets with checks that do not apply to every dataset: these are left out, and Dagster calls them skipped.

A plain `@dg.asset` must report every check that it declares; an asset that can be executed in part need not.
"""

import functools
import inspect
import logging
from collections.abc import Callable, Iterator
from typing import Any

import dagster as dg


def asset_with_optional_checks(**options: Any) -> Callable[[Callable[..., dg.MaterializeResult]], dg.AssetsDefinition]:
    """Decorate a function as `@dg.asset(**options)` does; it returns a MaterializeResult with the checks that apply.

    Checks can be executed alone; this makes a missing result and reports no materialisation.
    """
    of_spec = ("group_name", "kinds", "owners", "partitions_def", "deps", "code_version", "tags")

    def decorate(compute: Callable[..., dg.MaterializeResult]) -> dg.AssetsDefinition:
        name = compute.__name__
        described = dg.AssetSpec(
            name, description=inspect.getdoc(compute), **{field: options[field] for field in of_spec}
        )

        @dg.multi_asset(name=name, specs=[described], check_specs=options["check_specs"], can_subset=True)
        @functools.wraps(compute)
        def run(context: dg.AssetExecutionContext, **resources: Any) -> Iterator[Any]:
            if not context.has_partition_key:
                raise dg.Failure(
                    "no dataset was chosen, because Dagster does not ask for one when a check is run alone; "
                    f"materialise {name} for the dataset whose checks you want: results that are up to date are "
                    "reused",
                    allow_retries=False,
                )
            result = compute(context, **resources)
            wanted = {key.name for key in context.selected_asset_check_keys}
            checks = [one for one in result.check_results or () if one.check_name in wanted]
            context.log.addFilter(_not_about_checks_left_out)
            if context.selected_asset_keys:
                yield result._replace(check_results=checks)
            else:
                yield from (check._replace(asset_key=dg.AssetKey(name)) for check in checks)

        return run

    return decorate


def _not_about_checks_left_out(record: logging.LogRecord) -> bool:
    """Drop Dagster's log lines about checks without an outcome, which it calls missing outputs."""
    return "did not yield or return expected outputs" not in record.getMessage()
