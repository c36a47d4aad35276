"""Model of the field `columns` in a dataset's YAML file, which assigns meanings to the source's columns."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from aflite_assets.specs.models.settings import StrictSpec
from aflite_assets.specs.sources import (
    ChoiceSource,
    MultipleChoiceSource,
    PreferenceSource,
    SourceSpec,
    TableSource,
    as_tuple,
)
from aflite_assets.wording import did_you_mean, quoted_list

_MOST_NAMES, _NAME_LENGTH = 30, 80


class ColumnsSpec(StrictSpec):
    """Names of the source's columns. Image folders and feature files need no names."""

    label: str = "label"
    text: str | None = None
    text_pair: str | None = None
    image: str | None = None
    features: str | Annotated[tuple[str, ...], Field(min_length=1)] | None = Field(
        None, description="column of lists, or one column per feature"
    )
    id: str | None = Field(None, description="column of row ids in the source; default: a hash of the row's content")
    group: str | Annotated[tuple[str, ...], Field(min_length=1)] | None = Field(
        None,
        description="column of groups: rows with the same value are never split; with several columns, rows that "
        "share a value in any of them (in different columns too, so numbers of different things need different names)",
    )
    question: str | None = Field(
        None, description="answers with the same value belong to the same question; default: the group"
    )
    annotators: str | Annotated[tuple[str, ...], Field(min_length=1)] | None = Field(
        None, description="labels of individual annotators: a column of lists, or one column per annotator"
    )
    attributes: tuple[str, ...] = Field((), description="columns that are kept for reports only")
    allow_label_copies: tuple[Annotated[int, Field(ge=0)] | str, ...] = Field(
        (),
        description="feature or text columns that may have a one-to-one relation with the label: names, or numbers "
        "from 0 in a column of lists or a feature file",
    )

    @model_validator(mode="after")
    def _one_kind_of_input(self) -> Self:
        given = [name for name in ("text", "image", "features") if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"a row has one kind of input, but `columns` sets {' and '.join(given)}; keep only one")
        if self.text_pair is not None and self.text is None:
            raise ValueError("`text_pair` is set, but `text` is not; name the column of the first text in `text`")
        self._check_inputs_differ()
        self._check_label_copies()
        return self

    def _check_label_copies(self) -> None:
        """Raise an error if `allow_label_copies` contains a name that is not an input, because that name would silently
        have no effect.
        """
        inputs = (*as_tuple(self.text or ()), *as_tuple(self.text_pair or ()))
        if isinstance(self.features, tuple):
            inputs = self.features
        for name in self.allow_label_copies:
            if self.image is not None:
                raise ValueError(
                    f"`allow_label_copies` is for feature or text columns, but it contains {name!r} and the rows are "
                    "images; remove `allow_label_copies`"
                )
            if isinstance(self.features, str) and isinstance(name, str):
                raise ValueError(
                    f"`allow_label_copies` contains {name!r}, but `features` is {self.features!r}, a single column of "
                    "lists; give the number of the feature in the list, counted from 0"
                )
            if inputs and name not in inputs:
                near = did_you_mean(name, inputs) or "; correct it or leave it out"
                read = quoted_list(inputs, most=_MOST_NAMES, length=_NAME_LENGTH)
                raise ValueError(
                    f"`allow_label_copies` contains {name!r}, which is not one of the input columns [{read}]{near}"
                )

    def _check_inputs_differ(self) -> None:
        """Raise an error if the label column is also an input, because the label would predict itself. Raise an error
        also if two input columns are equal.
        """
        inputs = [
            (field, column)
            for field in ("text", "text_pair", "image", "features")
            for column in as_tuple(getattr(self, field) or ())
        ]
        for place, (field, column) in enumerate(inputs):
            if column == self.label:
                raise ValueError(
                    f"`{field}` is {column!r}, but this is also the label column, so models would receive the label as "
                    f"input; set `{field}` or `label` to another column"
                )
            earlier = next((other for other, name in inputs[:place] if name == column), None)
            if earlier is not None:
                raise ValueError(
                    f"`{field}` and `{earlier}` are both {column!r}; name two different columns, or remove `{field}`"
                    if earlier != field
                    else f"`{field}` contains {column!r} twice; remove one of the two"
                )


def subset_name(source: SourceSpec) -> str | None:
    """Return the name of the attribute with the subset of each question, or None if the source has no subsets."""
    if isinstance(source, PreferenceSource):
        return "subset"
    return source.subset if isinstance(source, MultipleChoiceSource) else None


def text_names(source: SourceSpec, columns: ColumnsSpec) -> dict[str, str]:
    """Map the raw table's columns `text` and `text_pair` to their names in the source. Columns without a name in the
    source are left out.

    If a multiple-choice source has several columns of answers, their common name is "answer".
    """
    if isinstance(source, MultipleChoiceSource):
        answers = as_tuple(source.answers or "answer")
        return {"text": " + ".join(as_tuple(source.question)), "text_pair": "answer" if answers[1:] else answers[0]}
    if isinstance(source, PreferenceSource):
        return {"text": source.prompt or "prompt", "text_pair": "answer"}
    named = {"text": columns.text, "text_pair": columns.text_pair}
    return {name: given for name, given in named.items() if given is not None}


def images_without_column(source: SourceSpec, column: str | None) -> str | None:
    """Return an error message if the source has a folder of images, but `column` (`columns.image`) is None."""
    table = source.table if isinstance(source, ChoiceSource) else source
    if not isinstance(table, TableSource) or table.images is None or column is not None:
        return None
    return (
        f"`images` of the source is {table.images!r}, but `columns.image` is not set; name the column with the names "
        "of the images in `columns.image`, or remove `images`"
    )
