"""Differences between training runs on the same test rows, with intervals and verdicts. The rules that turn a
difference into a verdict are in `rules`.
"""
