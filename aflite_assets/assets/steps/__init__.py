"""The step of an asset: its stage with retries, the run's lock and record, and checks that do not apply.

No assets are defined here.
"""
