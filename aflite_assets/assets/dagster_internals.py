"""Names of Dagster 1.13 that have no public access; no other module of the project imports private modules of Dagster.

The names may change with any minor version, so `pyproject.toml` allows only 1.13. Before a later version is allowed,
each name here must be compared with it.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dagster as dg

# The executor runs all steps in one process under the dataset's lock; public executors take no such frame.
from dagster._core.execution.api import ExecuteRunWithPlanIterable
from dagster._core.execution.context.system import PlanExecutionContext, PlanOrchestrationContext
from dagster._core.execution.context_creation_job import PlanExecutionContextManager
from dagster._core.execution.plan.execute_plan import inner_plan_execution_iterator

# A step claims a slot of a pool itself, with a wait that sleeps; a public pool is claimed before the step begins.
from dagster._core.execution.plan.instance_concurrency_context import InstanceConcurrencyContext
from dagster._core.execution.plan.plan import ExecutionPlan
from dagster._core.execution.retries import RetryMode

# The instance opens its SQLite files under a lock. `dagster.yaml` names the class.
from dagster._core.instance.ref import InstanceRef
from dagster._core.storage.sqlite_storage import DagsterSqliteStorage
from dagster._serdes import ConfigurableClassData

# A waiting step has to notice that its run was cancelled.
from dagster._utils.interrupts import pop_captured_interrupt

if TYPE_CHECKING:
    from dagster._core.workspace.context import WorkspaceProcessContext
    from starlette.applications import Starlette


def load_workspace(instance: dg.DagsterInstance, workspace: Path, *, read_only: bool) -> "WorkspaceProcessContext":
    """Load the code locations of a workspace file; the returned context manager keeps them alive and then ends them."""
    # Imported here: runs load this file too, and need no workspace.
    from dagster._core.workspace.context import WorkspaceProcessContext
    from dagster._core.workspace.load_target import WorkspaceFileTarget

    return WorkspaceProcessContext(instance, WorkspaceFileTarget([str(workspace)]), read_only=read_only)


def webserver_app(context: "WorkspaceProcessContext", *, lifespan: Callable[..., Any]) -> "Starlette":
    """Return Dagster's pages as an application, which the command `dagster-webserver` serves without a guard."""
    from dagster_webserver.app import create_app_from_workspace_process_context

    return create_app_from_workspace_process_context(context, live_data_poll_rate=2000, lifespan=lifespan)


__all__ = [
    "ConfigurableClassData",
    "DagsterSqliteStorage",
    "ExecuteRunWithPlanIterable",
    "ExecutionPlan",
    "InstanceConcurrencyContext",
    "InstanceRef",
    "PlanExecutionContext",
    "PlanExecutionContextManager",
    "PlanOrchestrationContext",
    "RetryMode",
    "inner_plan_execution_iterator",
    "load_workspace",
    "pop_captured_interrupt",
    "webserver_app",
]
