"""The errors this project raises on purpose: one base, one name per kind of mistake a user can make.

Every message says what was wrong, the value received and what to do about it.
"""


class AfliteError(Exception):
    """Base of every error raised on purpose by this project.

    `may_pass`: whether the same may succeed a little later, since nothing that the user gave is wrong. `refuses`:
    whether the same inputs will be refused each time, so that only other inputs help.
    """

    may_pass: bool = False
    refuses: bool = False


class InvalidInputError(AfliteError, ValueError):
    """Arrays or settings given to a function contradict its contract."""

    refuses = True


class SpecError(AfliteError, ValueError):
    """A dataset's YAML file cannot be understood; the message names file, field, value and remedy."""

    refuses = True


class DataError(AfliteError, ValueError):
    """The data are not what the dataset's spec says: a missing column, an unknown label, a value that is not finite."""

    refuses = True


class MissingDataError(DataError):
    """The data are not there: a file or folder is missing, or the hub cannot be reached and its cache is empty."""

    refuses = False


class UnsettledDataError(DataError):
    """The data cannot be judged yet: a file is still being written, or too much of it is not hashed yet."""

    refuses = False


class ArtefactFoundError(DataError):
    """The scan found an artefact, and the dataset's file says that a run ends then (`scan: {stop: artefact}`)."""


class ModelError(AfliteError):
    """An encoder or evaluator cannot be loaded or does not fit the data."""


class StoreError(AfliteError):
    """The result store cannot serve or keep a result."""


class WorkerLostError(AfliteError):
    """A process that made a result ended before it was done: killed, or out of memory."""

    may_pass = True


class ClusterError(AfliteError):
    """The cluster cannot be reached, or has no room for the work."""

    may_pass = True


class NodeRefusedError(ClusterError):
    """A node of the cluster would do other work than this machine: other libraries, or no sight of its files."""

    may_pass = False


class MemoryRanOutError(AfliteError):
    """The machine or the card had too little memory left."""

    may_pass = True


class TimeLimitError(AfliteError):
    """Making a result took longer than it was allowed to."""


class TooManyTriesError(AfliteError):
    """Refreshes have tried to make a result as often as they may."""


class StoreUnreachableError(StoreError):
    """The server of an object store does not answer, or asks to come back later."""

    may_pass = True


class StoreAccessError(StoreError):
    """An object store refuses: no credentials, too few rights, another region, or no such bucket."""


class UnsupportedStoreError(StoreError):
    """An object store cannot do what is asked: it ignores conditions of writes, or the command needs a folder."""


class LostObjectsError(StoreError):
    """An object store no longer holds the files of a result that was published into it."""


class DamagedManifestError(StoreError):
    """A result's manifest is not the one it was published with; `problem` is the reason in a phrase."""

    problem: str = ""


class DatasetBusyError(StoreError):
    """Another process runs this dataset; waiting helps."""


class TrackingError(AfliteError):
    """The tracking server or database cannot be reached or refuses what is logged."""


class NotificationError(AfliteError):
    """An alert cannot be kept or delivered; the message never holds a webhook's address."""


_OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "not enough memory", "_alloc_failed", "unable to allocate")


def as_sent(error: Exception, *, what: str, remedy: str) -> Exception:
    """Return the error as another process gets it: of its own type where that is ours, or a plain one about a file.

    Unpickling others would load their libraries, so they become a RuntimeError with their type and text. Want of memory
    becomes a MemoryRanOutError, which says during `what`, or where, and the `remedy`.
    """
    if isinstance(error, AfliteError):
        return error
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, MemoryError) or any(said in text.lower() for said in _OUT_OF_MEMORY):
        return MemoryRanOutError(f"memory ran out {what} ({text}); {remedy}")
    if isinstance(error, OSError) and type(error).__module__ == "builtins":
        return error
    return RuntimeError(str(error) if type(error) is RuntimeError else text)
