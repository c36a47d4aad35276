"""Assets with checks that do not apply to every dataset; a check that does not apply passes with a remark.

An asset defined by a plain `@dg.asset` must report every declared check. An asset with `can_subset=True` may report
only some checks, and can run its checks without the asset.
"""

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import dagster as dg


def asset_with_optional_checks(**options: Any) -> Callable[[Callable[..., dg.MaterializeResult]], dg.AssetsDefinition]:
    """Decorate a function like `@dg.asset(**options)`, but allow it to return only the checks that apply.

    Checks that do not apply pass with a reason, because Dagster would show a check without an outcome as unfinished.
    Checks can be executed without the asset. If checks are executed without the asset, a missing result is computed,
    but no materialisation is reported.
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
                    "no dataset is selected, because Dagster cannot select a dataset for a check that runs alone; to "
                    f"run the checks, materialise `{name}` for the dataset, which reuses results that are up to date",
                    allow_retries=False,
                )
            result = compute(context, **resources)
            wanted = {key.name for key in context.selected_asset_check_keys}
            found = {one.check_name: one for one in result.check_results or ()}
            names = [spec.name for spec in options["check_specs"] if spec.name in wanted]
            checks = [found.get(check) or _does_not_apply(check) for check in names]
            if context.selected_asset_keys:
                yield result._replace(check_results=checks)
            else:
                yield from (check._replace(asset_key=dg.AssetKey(name)) for check in checks)

        return run

    return decorate


def _does_not_apply(check: str) -> dg.AssetCheckResult:
    result = {"result": "does not apply to this dataset"}
    return dg.AssetCheckResult(check_name=check, passed=True, severity=dg.AssetCheckSeverity.WARN, metadata=result)
