"""Settings outside of `filter` that `filter: {preset: paper}` implies. The module `filter` defines the settings inside
of `filter`, and each study defines its own.
"""

from typing import TypeGuard


def is_papers(values: object) -> TypeGuard[dict[str, object]]:
    """Return True if a dataset's YAML values ask for the papers' settings by `filter: {preset: paper}`."""
    settings = values.get("filter") if isinstance(values, dict) else None
    return isinstance(settings, dict) and settings.get("preset") == "paper"


def with_paper_preset(values: dict[str, object]) -> dict[str, object]:
    """Return a dataset's YAML values, completed with the papers' settings outside of `filter`. Explicit settings in the
    file take precedence.

    The preset changes two things. First, warm-up rows are drawn without stratifying by class. Second, the train set
    `full` includes the warm-up rows. Values of a wrong type are left unchanged, so that validation reports them.
    """
    if not is_papers(values):
        return values
    values, warmup = {"full_includes_warmup": True, **values}, values.get("warmup", {})
    if isinstance(warmup, dict) and warmup.get("size") != "auto":
        values = {**values, "warmup": {"draw": "random", **warmup}}
    return values
