"""Settings outside of `filter` that `filter: {preset: paper}` implies. The module `filter` defines the settings inside
of `filter`.
"""


def with_paper_preset(values: dict[str, object]) -> dict[str, object]:
    """Return a dataset's YAML values, completed with the papers' settings outside of `filter`. Explicit settings in the
    file take precedence.

    The preset changes three things. First, warm-up rows and the random control of forgettable rows are drawn without
    stratifying by class. Second, the train set `full` includes the warm-up rows. Third, the sample is enlarged as long
    as accuracy rises. Values of a wrong type are left unchanged, so that validation reports them.
    """
    settings = values.get("filter")
    if not isinstance(settings, dict) or settings.get("preset") != "paper":
        return values
    values = {"full_includes_warmup": True, **values}
    warmup, forgettables, sample = values.get("warmup", {}), values.get("forgettables", {}), values.get("sample")
    if isinstance(warmup, dict) and warmup.get("size") != "auto":
        values = {**values, "warmup": {"draw": "random", **warmup}}
    if isinstance(sample, dict):
        values = {**values, "sample": {"stop": "falls", **sample}}
    if isinstance(forgettables, dict) and forgettables:
        control = {"random_rows": "any_class"}
        drawn = {name: control | one if isinstance(one, dict) else one for name, one in forgettables.items()}
        values = {**values, "forgettables": drawn}
    return values
