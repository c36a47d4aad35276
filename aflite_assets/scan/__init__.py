"""Scan for cues: properties of rows that predict the label by themselves.

This package uses no encoders, no stages and no Dagster.
"""
