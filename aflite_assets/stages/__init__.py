"""One module per asset with a function `run`: the pipeline without Dagster.

`pipeline` lists the stages with what each reads, and runs one or all of them. A stage reads the current results of
its inputs, fills a draft, and returns the numbers that describe it.
"""
