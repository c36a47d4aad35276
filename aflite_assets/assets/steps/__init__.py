"""Parts of an asset's step: the stage with retries, the run's lock and record, and checks that do not apply.

No assets are defined here.
"""
