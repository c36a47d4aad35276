"""How a run begins, whatever started it: dead runs are ended, and who carries this one out is written down."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

import dagster as dg

from aflite_assets.automation.dead_runs import end_dead_runs, mark_run
from aflite_assets.processes import announce_parent

if TYPE_CHECKING:
    from dagster._core.execution.context.system import PlanOrchestrationContext
    from dagster._core.execution.plan.plan import ExecutionPlan


class MarkedExecutor(dg.Executor):
    """Another executor, before whose first step the instance is put in order.

    Before, because a step of a pool would wait for ever for the slot of a dead run.
    """

    def __init__(self, executor: dg.Executor) -> None:
        self._executor = executor

    @property
    def retries(self) -> Any:
        """Whether steps may be tried again."""
        return self._executor.retries

    @property
    def step_dependency_config(self) -> Any:
        """Whether a step waits for whole steps or for single outputs before it."""
        return self._executor.step_dependency_config

    def execute(
        self, plan_context: "PlanOrchestrationContext", execution_plan: "ExecutionPlan"
    ) -> Iterator[dg.DagsterEvent]:
        """The events of the run."""
        mark_run(plan_context.instance, plan_context.run_id)
        announce_parent()
        end_dead_runs(plan_context.instance, log=plan_context.log.info)
        yield from self._executor.execute(plan_context, execution_plan)


def marked(executor: dg.ExecutorDefinition) -> dg.ExecutorDefinition:
    """The same executor with the same settings, each run of which begins as `MarkedExecutor` says."""

    def create(context: dg.InitExecutorContext) -> MarkedExecutor:
        make = executor.executor_creation_fn
        if make is None:
            raise TypeError(f"the executor {executor.name} cannot be created")
        return MarkedExecutor(make(context))

    return dg.ExecutorDefinition(
        name=executor.name,
        config_schema=cast(Any, executor.config_schema),  # converted already, which Dagster takes too
        requirements=executor.get_requirements,
        executor_creation_fn=create,
        description=executor.description,
    )
