"""Settings outside the filter that `filter: {preset: paper}` stands for; those of the filter are in filter.py."""


def with_paper_preset(values: dict[str, object]) -> dict[str, object]:
    """Return a dataset's file with what the papers do outside the filter; a setting that the file gives stays.

    The warm-up rows and the random control of forgettable rows are then drawn whatever their class, the full train set
    has the warm-up rows, and a sample grows while accuracy rises. Parts of the file that are no mappings are left for
    validation to refuse.
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
