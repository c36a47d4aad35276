"""Settings outside the filter that `filter: {preset: paper}` implies; the filter's own are in filter.py."""


def with_paper_preset(values: dict[str, object]) -> dict[str, object]:
    """Return a dataset's YAML values with the papers' settings outside the filter; a setting given in the file is kept.

    With the preset, the warm-up rows and the random control of forgettable rows are drawn regardless of class, the full
    train set includes the warm-up rows, and a sample grows while accuracy rises. Parts of the file that are not
    mappings are left for validation to refuse.
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
