"""Parts that Dagster runs by itself: jobs, sensors, schedules, the executor and the instance. Assets are in `assets`."""
