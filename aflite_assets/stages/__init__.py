"""The pipeline without Dagster: one module per stage, in the folder of its Dagster group; `pipeline` lists them in
order.

A stage module defines the fields of a dataset's YAML file that it reads (`StageSettings`), the results that it reads
(`StageInputs`), and `run`, which fills a draft and returns the numbers that describe it. Code for several stages is in
`shared`. Statistics, models and reports are computed elsewhere, and nothing here knows Dagster.
"""
