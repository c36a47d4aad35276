import numpy as np

from aflite_assets.algorithm.linear.engine.training_sets import TrainingSets

CODES = np.array([0, 1, 2, 0, 1, 2, 0, 1, 2, 0])


def three() -> TrainingSets:
    return TrainingSets.of([np.array([0, 3, 4]), np.array([2]), np.array([1, 2, 5, 8, 9])], CODES, n_classes=4)


def test_sets_lie_one_after_the_other() -> None:
    sets = three()
    assert len(sets) == 3
    assert sets.slots.dtype == np.int64
    assert sets.slots.tolist() == [0, 3, 4, 2, 1, 2, 5, 8, 9]
    assert sets.bounds.tolist() == [0, 3, 4, 9]
    assert sets.sizes.tolist() == [3, 1, 5]
    assert [sets[number].tolist() for number in range(3)] == [[0, 3, 4], [2], [1, 2, 5, 8, 9]]
    np.testing.assert_array_equal(sets.codes, CODES)


def test_seen_says_which_classes_a_set_has() -> None:
    expected = [[True, True, False, False], [False, False, True, False], [True, True, True, False]]
    assert three().seen.tolist() == expected


def test_a_part_is_the_same_as_its_sets_alone() -> None:
    part = three().part(1, 3)
    alone = TrainingSets.of([np.array([2]), np.array([1, 2, 5, 8, 9])], CODES, n_classes=4)
    for name in ("slots", "bounds", "codes", "seen", "sizes"):
        np.testing.assert_array_equal(getattr(part, name), getattr(alone, name))
    assert part.part(1, 2)[0].tolist() == [1, 2, 5, 8, 9]
    assert len(part.part(0, 0)) == 0


def test_starts_say_where_each_set_passes_each_edge() -> None:
    sets, edges = three(), np.array([0, 2, 3, 9, 10])
    starts = sets.starts(edges)
    assert starts.tolist() == [[0, 1, 1, 3, 3], [3, 3, 4, 4, 4], [4, 5, 6, 8, 9]]
    for number in range(3):
        for low, high, first, stop in zip(edges, edges[1:], starts[number], starts[number, 1:], strict=False):
            inside = sets[number][(sets[number] >= low) & (sets[number] < high)]
            np.testing.assert_array_equal(sets.slots[first:stop], inside)


def test_starts_of_a_part_point_into_the_part() -> None:
    part = three().part(1, 3)
    assert part.starts(np.array([0, 5, 10])).tolist() == [[0, 1, 1], [1, 3, 6]]


def test_unpredicted_bits_go_on_in_a_second_and_a_third_word() -> None:
    rng = np.random.default_rng(3)
    subsets = [np.flatnonzero(rng.random(40) < 0.5) for _ in range(130)]
    bits = TrainingSets.of(subsets, np.zeros(40, dtype=np.int64), n_classes=2).unpredicted_bits(40)
    assert bits.shape == (40, 3)
    for number, subset in enumerate(subsets):
        word = bits[:, number // 64].tolist()
        assert [slot for slot in range(40) if word[slot] >> number % 64 & 1] == subset.tolist()
    assert all(word < 4 for word in bits[:, 2].tolist())


def test_unpredicted_bits_of_few_sets() -> None:
    bits = three().unpredicted_bits(11)
    assert bits.dtype == np.uint64
    assert bits[:, 0].tolist() == [1, 4, 6, 1, 1, 4, 0, 0, 4, 4, 0]
