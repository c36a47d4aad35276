"""The step of an asset: its stage with retries, the run's lock and record, and checks that are left out. No assets are
defined here.
"""
