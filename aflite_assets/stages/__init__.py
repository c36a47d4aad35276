"""The pipeline without Dagster: one module per stage, in a folder per Dagster group.

A stage's module names the fields of a dataset's YAML file that the stage reads (`StageSettings`) and the results that
it reads (attributes of `StageInputs`), and defines the function `run`. `run` fills the draft of a result and returns
the numbers that describe the result. `pipeline` lists the stages in order, and `shared` has code for several stages.
Statistics, models and reports are implemented in other packages. No module of this package imports Dagster.
"""
