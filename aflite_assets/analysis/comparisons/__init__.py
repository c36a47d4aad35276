"""Differences between trainings on the same test rows, with intervals and verdicts. The rules that use them are in
`rules`.
"""
