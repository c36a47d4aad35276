"""How `aflite check` shows single rows of a dataset: every field the raw table has, short and safe to print."""

from collections.abc import Iterator

from aflite_assets.command_line.terminal import escaped, truncate_escaped
from aflite_assets.data.examples import Examples
from aflite_assets.data.images import open_encoded

MOST_SIGNS = 100
MOST_NUMBERS = 6


def shown_rows(examples: Examples, rows: int) -> Iterator[str]:
    """The first rows, several lines each: id and label, the input, then group, annotators and attributes if any."""
    for position in range(min(rows, len(examples))):
        yield from _row(Examples(examples.table.slice(position, 1), examples.label_names))


def _row(row: Examples) -> Iterator[str]:
    label = escaped(row.label_names[int(row.labels[0])])
    yield f"row {row.row_ids[0]} of {row.table['split'][0].as_py()}: label {label}"
    yield from (f"  {name}: {value}" for name, value in _input(row))
    if row.groups is not None:
        yield f"  group: {row.groups[0]}"
    if "annotator_labels" in row.table.column_names:
        given = row.table["annotator_labels"][0].as_py() or ()
        yield f"  annotators: {', '.join(escaped(row.label_names[number]) for number in given) or 'none'}"
    for name in row.table.column_names:
        if name.startswith("attribute."):
            value = row.table[name][0].as_py()
            yield f"  {escaped(name)}: {'none' if value is None else truncate_escaped(str(value), MOST_SIGNS)}"


def _input(row: Examples) -> Iterator[tuple[str, str]]:
    if row.modality == "text":
        for name in ("text", "text_pair"):
            if name in row.table.column_names:
                yield name, truncate_escaped(row.table[name][0].as_py(), MOST_SIGNS)
    elif row.modality == "features":
        values = row.features[0].tolist()
        first = ", ".join(f"{value:.3g}" for value in values[:MOST_NUMBERS])
        yield "features", f"{len(values)} numbers: {first}" + (", …" if len(values) > MOST_NUMBERS else "")
    else:
        yield "image", _image(row)


def _image(row: Examples) -> str:
    try:
        image = open_encoded(row.image_bytes(0))
    except Exception as error:  # of hostile bytes, readers raise anything; each says that this is no image
        return f"cannot be read: {truncate_escaped(str(error), MOST_SIGNS)}"
    size = f"{image.width} x {image.height} pixels, {image.format} {image.mode}"
    path = row.table["image"][0].as_py()["path"]
    return size if path is None else f"{size}, {escaped(path)}"
