"""The executor of all runs, which runs every step in the run's own process and holds the dataset's lock.

Results are computed in one child process (`stages.child_process`). A step with an existing result takes milliseconds
here, but Dagster's executor with a process per step takes seconds to start each step.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial

import dagster as dg

from aflite_assets.assets.dagster_internals import (
    ExecuteRunWithPlanIterable,
    ExecutionPlan,
    PlanExecutionContext,
    PlanExecutionContextManager,
    PlanOrchestrationContext,
    RetryMode,
    inner_plan_execution_iterator,
    raise_interrupts_as,
)
from aflite_assets.assets.steps.attempts import was_cancelled
from aflite_assets.assets.steps.card_slots import PatientSlots
from aflite_assets.assets.steps.run_scope import RunScope, run_scope
from aflite_assets.automation.dead_runs import end_dead_runs, mark_run
from aflite_assets.automation.runs_of_datasets import INTERRUPTED_TAG, started_elsewhere
from aflite_assets.errors import DatasetBusyError, StoreError


@dg.executor(name="one_process")
def one_process_executor(_: dg.InitExecutorContext) -> "OneProcessExecutor":
    """Return the executor that runs all steps in one process, in order."""
    return OneProcessExecutor()


class OneProcessExecutor(dg.Executor):
    """Dagster's in-process executor, which sleeps between two checks for a free slot of a pool."""

    @property
    def retries(self) -> RetryMode:
        """The retry mode: a step is retried in the same run."""
        return RetryMode.ENABLED

    def execute(
        self, plan_context: PlanOrchestrationContext, execution_plan: ExecutionPlan
    ) -> Iterator[dg.DagsterEvent]:
        """Run the plan's steps and yield their events.

        Dead runs are ended first, because a step would wait forever for a slot of a dead run.
        """
        mark_run(plan_context.instance, plan_context.run_id)
        end_dead_runs(plan_context.instance, log=plan_context.log.info)
        _end_if_cancelled(plan_context.instance, plan_context.dagster_run)
        try:
            yield from ExecuteRunWithPlanIterable(
                execution_plan=plan_context.execution_plan,
                iterator=_steps,
                execution_context_manager=PlanExecutionContextManager(
                    job=plan_context.job,
                    retry_mode=plan_context.retry_mode,
                    execution_plan=plan_context.execution_plan,
                    run_config=plan_context.run_config,
                    dagster_run=plan_context.dagster_run,
                    instance=plan_context.instance,
                    raise_on_error=plan_context.raise_on_error,
                    output_capture=plan_context.output_capture,
                    step_dependency_config=self.step_dependency_config,
                ),
            )
        except (KeyboardInterrupt, dg.DagsterExecutionInterruptedError):
            _note_cancellation(plan_context)
            raise


def _end_if_cancelled(instance: dg.DagsterInstance, run: dg.DagsterRun) -> None:
    """End the automatic retry of a run that a person was cancelling when its process was lost.

    If a run's process is lost while the run is cancelled, Dagster 1.13 records a failure and retries the run.
    """
    if "dagster/retry_number" in run.tags and run.parent_run_id and was_cancelled(instance, run.parent_run_id):
        instance.report_run_canceling(run, "The run that this run retries was cancelled.")
        raise dg.DagsterExecutionInterruptedError


def _note_cancellation(plan_context: PlanOrchestrationContext) -> None:
    """Report a run of `dg launch` as cancelled after Ctrl-C, which Dagster would count as a failure.

    If a daemon started the run, the interruption is a failure: the code location ended, and the run is retried.
    """
    run = plan_context.instance.get_run_by_id(plan_context.run_id)
    if run is not None and not started_elsewhere(run) and run.status == dg.DagsterRunStatus.STARTED:
        plan_context.instance.report_run_canceling(run, "The command of this run was interrupted.")
        plan_context.instance.add_run_tags(run.run_id, {INTERRUPTED_TAG: "true"})


def _steps(job_context: PlanExecutionContext, execution_plan: ExecutionPlan) -> Iterator[dg.DagsterEvent]:
    scope = _scope(job_context)
    with ExitStack() as stack:
        if scope is not None:
            _take_lock(job_context, scope, stack)
            stack.enter_context(run_scope(scope))
        with PatientSlots(job_context.instance, job_context.dagster_run) as slots:
            yield from inner_plan_execution_iterator(job_context, execution_plan, slots)
        if scope is not None:
            try:
                scope.record(execution_plan.step_keys_to_execute)
            except StoreError as error:
                job_context.log.warning(str(error))


def _scope(job_context: PlanExecutionContext) -> RunScope | None:
    """Return the scope of a run of one dataset's stages, or None for a run without results of a dataset."""
    partition = job_context.dagster_run.tags.get("dagster/partition")
    resources = job_context.scoped_resources_builder.resource_instance_dict
    if partition is None or "result_store" not in resources:
        return None
    store = job_context.scoped_resources_builder.build({"result_store"}).result_store
    return RunScope(job_context.run_id, store.open(), partition)


def _take_lock(job_context: PlanExecutionContext, scope: RunScope, stack: ExitStack) -> None:
    """Take the dataset's lock; if another run holds it, log the name of that run and wait until a person cancels."""
    hold = partial(scope.store.dataset_lock, scope.partition, what=scope.what)
    try:
        stack.enter_context(hold(wait=0))
    except DatasetBusyError as error:
        job_context.log.info(f"Waiting: {error}")
        with raise_interrupts_as(dg.DagsterExecutionInterruptedError):
            stack.enter_context(hold())
