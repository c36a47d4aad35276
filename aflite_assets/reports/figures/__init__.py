"""Figures of the report, either as PNG files or as data for a script of the report page.

The package `reports.page` renders the page, and the package `analysis.scores` computes the statistics.
"""
