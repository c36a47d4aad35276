import json
import re
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.data.hub.conftest import Hub, Worker

ONE, TWO = "a" * 40, "b" * 40
TOKEN = "hf_SeCrEtOfThisTest"
CARD_FILES = ("pairs/train-0.parquet", "pairs/dev.parquet", "other.parquet")


def _source(id: str = "me/pairs", revision: str | None = "main", **values: Any) -> dict[str, Any]:
    source = {"format": "hub", "id": id, "splits": {"train": "train"}, **values}
    return source if revision is None else {**source, "revision": revision}


def test_without_a_network_what_was_not_loaded_is_refused_quickly(hub: "Hub", without_hub: "Worker") -> None:
    cannot = r"dataset 'me/never': the hub at http://127\.0\.0\.1:9 cannot be reached \(ConnectError: .*\) and revision"
    for revision in (ONE, "main"):
        outcome = without_hub.do("load", source=_source("me/never", revision))
        assert re.match(f"{cannot} '{revision}' is not in the cache '.*'; connect to the network$", outcome["message"])
        assert outcome["error"] == "MissingDataError"
        assert outcome["seconds"] < 15
    assert re.match(
        cannot, without_hub.refusal("check_available", error="MissingDataError", source=_source("me/never", ONE))
    )
    hub.publish("me/newest", {"train.csv": "n\n1\n"})
    hub.worker.load(_source("me/newest", None, newest=True))
    message = without_hub.refusal("load", error="MissingDataError", source=_source("me/newest", None, newest=True))
    assert re.search(f"cannot be reached .*, or set `revision: {ONE}` .* and `newest: false`", message)


SCRIPT = "import datasets\nraise SystemExit('this code must not run')\n"
UNFIT: dict[str, bytes | str] = {"a.jsonl": '{"n": 1}', "b.jsonl": '{"n": "x"}'}
REFUSED: list[tuple[dict[str, bytes | str], dict[str, Any], str]] = [
    (
        {"train.csv": "n\n"},
        {"revision": "v9"},
        r"the hub knows no revision 'v9'; set `revision` to a commit, tag or branch of http://.*/commits/main",
    ),
    ({"train.csv": "n\n"}, {"revision": "d" * 40}, "the hub knows no revision 'dddd"),
    (
        {"train.csv": "n\n1\n"},
        {"splits": {"train": "trian"}},
        r"has no split 'trian' at commit aaaa.* \(the splits are \['train'\]\); did you mean 'train'\?",
    ),
    ({"train.csv": "n\n1\n"}, {"splits": {"train": "dev"}}, r"\(the splits are \['train'\]\); correct `source\.splits"),
    (
        {"train.csv": "n\n1\n"},
        {"splits": {"train": "trian.csv"}},
        r"no file matches 'trian\.csv' at commit aaaa.* \(the files are \['train\.csv'\]\); did you "
        r"mean 'train\.csv'\?",
    ),
    ({"train.csv": "n\n1\n"}, {"splits": {"train": "data/*.csv"}}, r"no file matches 'data/\*\.csv'"),
    (
        {"x.pkl": b"\x80"},
        {"splits": {"train": "x.pkl"}},
        r"the file 'x\.pkl' has none of the suffixes \.parquet, \.csv,.*\(with or without .gz\); name other files, "
        r"or a split of the hub \(a name without a dot\)",
    ),
    (
        {"train.csv": "n\n1\n"},
        {"config": "deflaut"},
        r"no configuration 'deflaut' \(the configurations are \['default'\]\); did you mean 'default'\?",
    ),
    (
        {"refused.py": SCRIPT},
        {},
        r"the dataset needs a script \(refused.py\), but code from the hub is never run; name its "
        r"data files in `source.splits`. Or set `revision: refs/convert/parquet`, where the hub stores a "
        r"copy as Parquet",
    ),
    ({"train.parquet": b"PAR1 no"}, {}, r"reading 'train' at commit aaaa.* failed \(ArrowInvalid: "),
    (
        {"train.parquet": b"PAR1 no"},
        {"splits": {"train": "train.parquet"}},
        r"'train\.parquet' at commit aaaa.* cannot be read as parquet: .*; name other files",
    ),
    (
        {"train.csv": "a,b\n1\n"},
        {},
        r"'train\.csv' at commit aaaa.* cannot be read as csv: line 2: 1 values where there are 2 columns",
    ),
    (
        {"a.csv.gz": b"\x1f\x8b\x08\x00"},
        {"splits": {"train": "a.csv.gz"}},
        r"'a\.csv\.gz' at .* cannot be read as csv: ",
    ),
    (
        UNFIT,
        {"splits": {"train": ["a.jsonl", "b.jsonl"]}},
        r"split 'train': \['a.jsonl', 'b.jsonl'\] of dataset 'me/refused\d+' have incompatible columns",
    ),
    ({"train.h5": b"x"}, {}, r"the files of the dataset are in the format 'hdf5', which is not supported"),
    ({"notes.doc": b"x"}, {}, r"reading 'train' at .* failed \(DataFilesNotFoundError: No \(supported\) data files"),
    ({"README.md": "---\nconfigs: [\n---\n"}, {}, r"reading 'train' at commit aaaa.* failed \("),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_cannot_be_read_is_refused_with_what_to_do(hub: "Hub", number: int) -> None:
    files, source, message = REFUSED[number]
    id = "me/refused" if "refused.py" in files else f"me/refused{number}"
    hub.publish(id, files)
    assert re.search(message, hub.worker.refusal("load", source=_source(id, **source)), re.DOTALL)


def test_unknown_ids_and_missing_configurations_are_named(hub: "Hub") -> None:
    message = hub.worker.refusal("load", source=_source("me/nobody"))
    assert re.search(
        r"dataset 'me/nobody': it is private or not on the hub; correct the id, .* `hf auth login`, set "
        r"`HF_TOKEN`, or set `source\.token: \$\{secret:HF_TOKEN\}`",
        message,
    )
    card = hub.card.split("dataset_info:")[0].replace("  default: true\n", "") + "---\n"
    hub.publish("me/two", {"README.md": card, **dict.fromkeys(CARD_FILES, b"")})
    message = hub.worker.refusal("load", source=_source("me/two"))
    assert message.endswith("the dataset has several configurations; set `source.config` to one of ['pairs', 'other']")
    hub.publish("me/down", {"train.csv": "n\n1\n"}, status=503)
    message = hub.worker.refusal("load", error="MissingDataError", source=_source("me/down", ONE))
    assert re.search("the hub answers 503 .*; try again later", message, re.DOTALL)


@pytest.mark.parametrize("split", ["train", "train.csv", "*.csv"])
@pytest.mark.parametrize("rows", [None, 1])
def test_gated_datasets_are_read_with_a_token_that_is_never_shown(hub: "Hub", split: str, rows: int | None) -> None:
    id = f"me/gated-{split.replace('*', 'all')}-{rows}"
    hub.publish(id, {"README.md": "# gated\n", "train.csv": "n\n1\n"}, gated=TOKEN)

    def outcome(token: str | None) -> dict[str, Any]:
        return hub.worker.do("load", source=_source(id, splits={"train": split}, token=token), rows=rows)

    nobody, stranger, expired, broken = (outcome(token) for token in (None, TOKEN + "2", "hf_expired", TOKEN + "\nx"))
    kinds = [refused["error"] for refused in (nobody, stranger, expired, broken)]
    assert kinds == ["MissingDataError", "MissingDataError", "DataError", "DataError"]
    page = r"http://127\.0\.0\.1:\d+/datasets/" + id
    assert re.search(f"it is gated and no token was sent; accept its terms on {page}, then log in", nobody["message"])
    assert re.search(f"gated and the token that was sent has no access; .* {page} with the acc", stranger["message"])
    assert re.search("the hub refuses the token that was sent; create a new token", expired["message"])
    assert re.search(
        "the token contains spaces, line breaks or other invalid characters; correct the environment "
        "variable in `source.token`",
        broken["message"],
    )
    fine = outcome(f" {TOKEN}\n")
    assert fine["result"]["train"]["rows"] == [{"n": "1"}]
    assert {request["authorization"] for request in hub.requests(id)[-3:]} == {f"Bearer {TOKEN}"}
    assert TOKEN not in json.dumps([nobody, stranger, expired, broken, fine])
    assert TOKEN not in hub.worker.said.read_text()
    assert not any(TOKEN.encode() in path.read_bytes() for path in hub.home.rglob("*") if path.is_file())


def test_models_commits(hub: "Hub", without_hub: "Worker") -> None:
    hub.publish("me/model", {"config.json": "{}"}, kind="model")
    assert hub.worker.do("resolve_model", id="me/model")["result"] == ONE
    assert hub.worker.do("resolve_model", id="me/model", revision=TWO)["result"] == TWO
    message = hub.worker.refusal("resolve_model", error="ModelError", id="me/other-model")
    assert re.match("model 'me/other-model': it is private or not on the hub; correct the id", message)
    message = without_hub.refusal("resolve_model", error="ModelError", id="me/model")
    assert re.match("model 'me/model': the hub at .* cannot be reached", message)
    cache = hub.home / "cache" / "huggingface" / "hub" / "models--me--model"
    (cache / "refs").mkdir(parents=True)
    (cache / "refs" / "main").write_text(TWO)
    (cache / "snapshots" / TWO).mkdir(parents=True)
    assert without_hub.do("resolve_model", id="me/model")["result"] == TWO
