from itertools import product

from aflite_assets.algorithm.streams import Purpose, generator


def test_every_purpose_iteration_and_partition_has_its_own_stream() -> None:
    seeds = (0, 1, 2, 2**32, 2**32 + 1)
    places = list(product(seeds, Purpose, range(3), range(3)))
    assert len({int(generator(*place).integers(2**63)) for place in places}) == len(places)


def test_a_stream_does_not_depend_on_what_was_drawn_before() -> None:
    generator(5, Purpose.PARTITION, 0, 0).random(10)
    first = generator(5, Purpose.PARTITION, 1, 2).random(3).tolist()
    assert generator(5, Purpose.PARTITION, 1, 2).random(3).tolist() == first
