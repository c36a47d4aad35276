"""Imports of private names of Dagster 1.13; no other module of the project imports private modules of Dagster.

Private names may change with any minor version, so `pyproject.toml` allows only Dagster 1.13. Before a later version is
allowed, each name must be compared with that version.
"""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

# The executor runs all steps in one process under the dataset's lock, which public executors cannot do.
from dagster._core.execution.api import ExecuteRunWithPlanIterable
from dagster._core.execution.context.system import PlanExecutionContext, PlanOrchestrationContext
from dagster._core.execution.context_creation_job import PlanExecutionContextManager
from dagster._core.execution.plan.execute_plan import inner_plan_execution_iterator

# A step claims its pool's slot when it needs the GPU; with public functions, Dagster claims it before the step begins.
from dagster._core.execution.plan.instance_concurrency_context import InstanceConcurrencyContext
from dagster._core.execution.plan.plan import ExecutionPlan
from dagster._core.execution.retries import RetryMode

# The instance opens its SQLite files under a lock; `dagster.yaml` names the class that does this.
from dagster._core.instance.ref import InstanceRef
from dagster._core.storage.sqlite_storage import DagsterSqliteStorage
from dagster._serdes import ConfigurableClassData

# A step that waits for a slot has to notice that its run was cancelled.
from dagster._utils.interrupts import pop_captured_interrupt


def run_webserver(arguments: Sequence[str], *, wrap: Callable[[Any], Any]) -> None:
    """Run the command `dagster-webserver` in this process.

    `wrap`: a function that receives Dagster's web application and returns the application to serve.
    """
    # Imported here, because runs load this module without needing the web server.
    from dagster_webserver import cli

    make, run = cli.create_app_from_workspace_process_context, cli.uvicorn.run
    cli.create_app_from_workspace_process_context = lambda *given, **named: wrap(make(*given, **named))
    # The timeout is needed because open pages keep their websockets open.
    cli.uvicorn.run = lambda app, **named: run(app, **named, server_header=False, timeout_graceful_shutdown=2)
    cli.dagster_webserver(args=list(arguments), standalone_mode=False)


def run_dev(arguments: Sequence[str], *, webserver: Sequence[str], **process: Any) -> None:
    """Run the command `dagster dev` in this process, with `webserver` in place of `python -m dagster_webserver`.

    `process`: further options of `subprocess.Popen` for the processes that the command starts.
    """
    from dagster._cli import dev

    start = dev.open_ipc_subprocess

    def started(command: Sequence[str], **named: Any) -> Any:
        is_webserver = "dagster_webserver" in command[:3]
        return start([*webserver, *command[3:]] if is_webserver else command, **named, **process)

    dev.open_ipc_subprocess = started  # type: ignore[assignment]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Dagster recommends `dg dev`, which calls this command
        dev.dev_command(args=list(arguments), standalone_mode=False)


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
    "pop_captured_interrupt",
    "run_dev",
    "run_webserver",
]
