"""Imports of Dagster 1.13's private names, which no other module of the project imports.

Private names may change with any minor version, so `pyproject.toml` allows only Dagster 1.13. Before a later version is
allowed, each name must be checked in that version.
"""

import os
import signal
import subprocess
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import click

# The executor runs all steps in one process under the dataset's lock; public executors take no such frame.
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

# The type of the error in events of failed steps and runs.
from dagster._utils.error import SerializableErrorInfo

# A waiting run or step has to notice that the run was cancelled.
from dagster._utils.interrupts import pop_captured_interrupt, raise_interrupts_as


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


def run_dev(arguments: Sequence[str], *, webserver: Sequence[str], preexec_fn: Callable[[], None]) -> None:
    """Run the command `dagster dev` in this process; the command `webserver` replaces `python -m dagster_webserver`.

    When `dagster dev` ends, code servers and their child processes end too, even if the code servers are still loading.
    `preexec_fn` runs in each process that this process starts.
    """
    from dagster._cli import dev
    from dagster._grpc import server

    start = dev.open_ipc_subprocess
    code_servers: list[Any] = []

    def start_service(command: Sequence[str], **named: Any) -> Any:
        is_webserver = "dagster_webserver" in command[:3]
        return start([*webserver, *command[3:]] if is_webserver else command, **named, preexec_fn=preexec_fn)

    def start_code_server(command: Sequence[str], **named: Any) -> Any:
        code_servers.append(start(command, **named, preexec_fn=preexec_fn, process_group=0))
        return code_servers[-1]

    dev.open_ipc_subprocess = start_service  # type: ignore[assignment]
    server.open_ipc_subprocess = start_code_server  # type: ignore[assignment]
    try:
        with warnings.catch_warnings(), suppress(click.Abort):  # an interrupt while code servers start
            warnings.simplefilter("ignore")  # that `dg dev` is newer; it calls this command
            dev.dev_command(args=list(arguments), standalone_mode=False)
    finally:
        for process in code_servers:
            _end_group(process)


def _end_group(leader: "subprocess.Popen[bytes]") -> None:
    """Terminate a process group, and kill the processes that have not ended after half a minute."""
    for number, seconds in ((signal.SIGTERM, 30), (signal.SIGKILL, 5)):
        end = time.monotonic() + seconds
        with suppress(ProcessLookupError):
            os.killpg(leader.pid, number)
            while time.monotonic() < end:
                leader.poll()  # the group exists until its leader is reaped
                os.killpg(leader.pid, 0)
                time.sleep(0.1)


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
    "SerializableErrorInfo",
    "inner_plan_execution_iterator",
    "pop_captured_interrupt",
    "raise_interrupts_as",
    "run_dev",
    "run_webserver",
]
