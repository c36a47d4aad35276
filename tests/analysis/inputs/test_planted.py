from aflite_assets.analysis.inputs.cues import PLANTED, PlantedRemoval

REMOVAL = PlantedRemoval("roberta", "mark", ("right",), 1200, 780, 800, 720)


def test_shares_by_hand() -> None:
    assert (REMOVAL.precision, REMOVAL.precision_by_chance) == (0.9, 0.65)
    assert (REMOVAL.recall, REMOVAL.recall_by_chance) == (720 / 780, 800 / 1200)


def test_the_tidy_table_has_the_shares_beside_the_counts() -> None:
    (row,) = PLANTED.to_arrow([REMOVAL]).to_pylist()
    assert (row["values"], row["precision"], row["recall_by_chance"]) == (["right"], 0.9, 800 / 1200)
    assert PLANTED.from_arrow(PLANTED.to_arrow([REMOVAL])) == (REMOVAL,)
