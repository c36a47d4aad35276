from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.data.examples import Examples
from aflite_assets.errors import DataError
from aflite_assets.models.classical.inputs import fit_inputs
from aflite_assets.models.family import Matrix
from aflite_assets.models.image.inputs import decode_image


def _dense(matrix: Matrix) -> np.ndarray:
    assert not isinstance(matrix, np.ndarray)
    return np.asarray(matrix.todense())


def test_features_stay_as_they_are(table: Callable[..., Examples]) -> None:
    values = [[1.0, 2.0], [3.0, 4.5]]
    examples = table([0, 1], ("a", "b"), features=pa.array(values, pa.list_(pa.float32())))
    np.testing.assert_array_equal(fit_inputs(examples, [], inputs=None)(examples), values)


def test_some_feature_columns_in_the_order_named(table: Callable[..., Examples]) -> None:
    values = [[1.0, 2.0, 5.0], [3.0, 4.5, 6.0]]
    examples = table([0, 1], ("a", "b"), features=pa.array(values, pa.list_(pa.float32())))
    make_matrix = fit_inputs(examples, [], inputs=None, features=(2, 0))
    np.testing.assert_array_equal(make_matrix(examples), [[5.0, 1.0], [6.0, 3.0]])


def test_tfidf_weights_of_words_and_pairs_by_hand(table: Callable[..., Examples]) -> None:
    train = table([0, 1], ("a", "b"), text=["A dog A", "dog"])
    matrix = _dense(fit_inputs(train, [], inputs=None)(train))
    # Alphabetical: "a", "a dog", "dog", "dog a"; idf = 1 + ln(3 / (1 + document frequency)).
    rare, common = 1 + np.log(3 / 2), 1.0
    first = np.array([(1 + np.log(2)) * rare, rare, common, rare])
    np.testing.assert_allclose(matrix[0], first / np.linalg.norm(first))
    np.testing.assert_allclose(matrix[1], [0, 0, 1, 0])


def test_columns_have_vocabularies_of_their_own_learnt_from_train_only(table: Callable[..., Examples]) -> None:
    train = table([0, 1], ("a", "b"), text=["dog", "cat"], text_pair=["dog", "cow"])
    test = table([0], ("a", "b"), text=["unknown"], text_pair=["dog"])
    matrix = _dense(fit_inputs(train, [test], inputs=None)(test))
    np.testing.assert_array_equal(matrix, [[0, 0, 0, 1]])
    partial = _dense(fit_inputs(train, [test], inputs=("text",))(test))
    np.testing.assert_array_equal(partial, [[0, 0]])


def test_a_column_without_words_is_an_error(table: Callable[..., Examples]) -> None:
    train = table([0, 1], ("a", "b"), text=["?", "..."])
    with pytest.raises(DataError, match=r"column `text` of 2 train rows has no words to weigh"):
        fit_inputs(train, [], inputs=None)


def test_pixels_at_their_own_size(png_images: Callable[..., Examples]) -> None:
    examples = png_images(3, sizes=[(6, 4)] * 3)
    matrix = fit_inputs(examples, [examples], inputs=None)(examples)
    assert matrix.shape == (3, 6 * 4 * 3)
    np.testing.assert_allclose(matrix[2], decode_image(examples, 2).reshape(-1) / 255)
    assert matrix.max() <= 1


def test_pixels_of_mixed_sizes_become_32_by_32(png_images: Callable[..., Examples]) -> None:
    train, test = png_images(2, sizes=[(6, 4)] * 2), png_images(1, sizes=[(8, 8)])
    matrix = fit_inputs(train, [test], inputs=None)(train)
    assert matrix.shape == (2, 32 * 32 * 3)
    np.testing.assert_allclose(matrix[0], decode_image(train, 0, size=(32, 32)).reshape(-1) / 255)
