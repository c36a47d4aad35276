"""Small definitions whose schedule, job and asset a page of another origin tries to reach."""

import dagster as dg


@dg.asset
def made() -> None:
    """Something that an attacker would like to have made."""


removal = dg.define_asset_job("removal", selection=[made])
nightly = dg.ScheduleDefinition(name="nightly", job=removal, cron_schedule="0 3 * * *")
defs = dg.Definitions(assets=[made], jobs=[removal], schedules=[nightly])
