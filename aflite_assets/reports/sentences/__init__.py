"""Sentences and cautions of the report. The package `analysis` computes the numbers, and the package `page` renders the
page.
"""
