"""The errors this project raises on purpose: one base, one name per kind of mistake a user can make.

Every message says what was wrong, the value received and what to do about it.
"""


class AfliteError(Exception):
    """Base of every error raised on purpose by this project."""


class InvalidInputError(AfliteError, ValueError):
    """Arrays or settings given to a function contradict its contract."""


class SpecError(AfliteError, ValueError):
    """A dataset's YAML file cannot be understood; the message names file, field, value and remedy."""


class DataError(AfliteError, ValueError):
    """The data are not what the dataset's spec says: a missing column, an unknown label, a value that is not finite."""


class MissingDataError(DataError):
    """The data are not there: a file or folder is missing, or the hub cannot be asked and its cache is empty."""


class ModelError(AfliteError):
    """An encoder or evaluator cannot be loaded or does not fit the data."""


class StoreError(AfliteError):
    """The result store cannot serve or keep a result."""


class TrackingError(AfliteError):
    """The tracking server or database cannot be reached or refuses what is logged."""


class NotificationError(AfliteError):
    """An alert cannot be kept or delivered; the message never holds a webhook's address."""
