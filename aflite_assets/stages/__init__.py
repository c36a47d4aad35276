"""The pipeline without Dagster: a module per stage, in the folder of its Dagster group; `pipeline` lists them in order.

A stage module defines what it reads of a dataset's file (`StageSettings`), which results it reads (`StageInputs`), and
`run`, which fills a draft and returns the numbers that describe it. What several stages need is in `shared`.
Not here: what a statistic, a model or a report computes; whatever knows Dagster.
"""
