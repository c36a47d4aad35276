"""Arguments and printed text of the command `aflite push`.

The module `aflite_assets.data.hub.push` uploads the files.
"""

import argparse
import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from aflite_assets.command_line.terminal import escaped, size, table, write_lines
from aflite_assets.results.locks import reading
from aflite_assets.results.opening import open_store
from aflite_assets.results.records import PublishedResult

_PUSH = """\
Uploads a dataset's published folder (the stage published_dataset, with its card) to a dataset repository on the
Hugging Face hub. A new repository is private unless --public is given. In a repository from an earlier push, one commit
replaces the tables. The token is HF_TOKEN, or the token of `hf auth login`. The tables contain rows of the source:
publish them only if the licence of the source allows this.
"""


def add_command(commands: Any) -> None:
    """Add `push` to the command line's subparsers."""
    push = commands.add_parser("push", help="upload a published dataset to the hub", description=_PUSH)
    push.add_argument("name", metavar="NAME", help="a dataset that has results")
    push.add_argument("hub_id", metavar="OWNER/NAME", type=_hub_id, help="id of the repository on the hub")
    push.add_argument("--public", action="store_true", help="make the repository public (default: private)")
    dry_run = "print what would be uploaded, without a request to the hub"
    push.add_argument("--dry-run", action="store_true", help=dry_run)
    push.set_defaults(command=_push)


def _hub_id(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a repository id of the hub; write OWNER/NAME")
    return text


def _push(options: argparse.Namespace) -> None:
    from aflite_assets.data.hub.push import folder_files, push_folder

    store = open_store()
    result = store.current("published_dataset", options.name)
    store.check_inputs([result], reader=f"the push of {options.name!r}")
    with reading([result]):
        files = folder_files(result.path, result.manifest["files"])
        write_lines(sys.stdout, _lines(result, options.hub_id, files, is_public=options.public))
        said = ["nothing was sent (--dry-run)"]
        if not options.dry_run:
            message = f"{options.name}, data version {result.data_version}"
            pushed = push_folder(result.path, files, options.hub_id, public=options.public, message=message)
            loading = f'load it with datasets.load_dataset("{options.hub_id}", "filtered")'
            said = [f"pushed: {pushed.page}, commit {pushed.commit}", loading]
        write_lines(sys.stdout, said)


def _lines(result: PublishedResult, hub_id: str, files: Mapping[str, int], *, is_public: bool) -> Iterator[str]:
    """Yield lines that describe the upload: the folder, the visibility of the repository, the rows of each
    configuration, and the files.
    """
    visible = "public, everybody can read it" if is_public else "private"
    yield f"{escaped(result.partition)} to the dataset {hub_id} ({visible})"
    yield f"  from {escaped(str(result.path))}, data version {result.data_version}"
    rows = [
        (name, ", ".join(f"{escaped(split)} {count:,}" for split, count in counts.items()))
        for name, counts in result.summary["rows"].items()
    ]
    yield from (f"  {line}" for line in table([("configuration", "rows"), *rows]))
    yield f"  {len(files)} files, {size(sum(files.values()))}: the card and the tables"
    yield "  the tables contain rows of the source; check that its licence allows you to publish them"
