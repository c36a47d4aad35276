"""The errors this project raises deliberately: one base class, and one subclass per kind of mistake.

Every message states what was wrong, the value received and what to do.
"""


class AfliteError(Exception):
    """Base of every error that this project raises deliberately.

    `may_pass`: whether the same call may succeed later without other input. `refuses`: whether the same inputs will
    always be refused, so that only other inputs help.
    """

    may_pass: bool = False
    refuses: bool = False


class InvalidInputError(AfliteError, ValueError):
    """Arrays or settings given to a function contradict its contract."""

    refuses = True


class SpecError(AfliteError, ValueError):
    """A dataset's YAML file is invalid; the message names file, field, value and remedy."""

    refuses = True


class DataError(AfliteError, ValueError):
    """The data do not match the dataset's spec: a missing column, an unknown label, a value that is not finite."""

    refuses = True


class MissingDataError(DataError):
    """The data do not exist: a file or folder is missing, or the hub cannot be reached and its cache is empty."""

    refuses = False


class UnsettledDataError(DataError):
    """The data cannot be judged yet: a file is still being written, or too much of it is not hashed yet."""

    refuses = False


class ArtefactFoundError(DataError):
    """The scan found an artefact, and the dataset's YAML file makes a run end in that case (`scan: {stop:
    artefact}`).
    """


class ModelError(AfliteError):
    """An encoder or evaluator cannot be loaded or does not fit the data."""


class StoreError(AfliteError):
    """The result store cannot read or save a result."""


class WorkerLostError(AfliteError):
    """A process that made a result ended early: it was killed, or ran out of memory."""

    may_pass = True


class ClusterError(AfliteError):
    """The cluster cannot be reached, or has no room for the work."""

    may_pass = True


class NodeRefusedError(ClusterError):
    """A node of the cluster could give other results than this machine: it has other libraries, or does not see its
    files.
    """

    may_pass = False


class MemoryRanOutError(AfliteError):
    """The machine or the card had too little memory left."""

    may_pass = True


class TimeLimitError(AfliteError):
    """Making a result took longer than the time limit."""


class TooManyTriesError(AfliteError):
    """Refreshes have reached the maximum number of attempts to compute a result."""


class StoreUnreachableError(StoreError):
    """The server of an object store does not respond, or asks to come back later."""

    may_pass = True


class StoreAccessError(StoreError):
    """An object store denies access: no credentials, insufficient rights, another region, or no such bucket."""


class UnsupportedStoreError(StoreError):
    """An object store does not support the operation: it ignores conditions of writes, or the command needs a
    folder.
    """


class LostObjectsError(StoreError):
    """An object store no longer holds the files of a result that was published into it."""


class DamagedManifestError(StoreError):
    """A result's manifest differs from the one it was published with; `problem` is the reason in a phrase."""

    problem: str = ""


class DatasetBusyError(StoreError):
    """Another process runs this dataset; waiting helps."""


class TrackingError(AfliteError):
    """The tracking server or database cannot be reached, or refuses logged values."""


class NotificationError(AfliteError):
    """An alert cannot be stored or delivered; the message never contains a webhook's address."""


_OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "not enough memory", "_alloc_failed", "unable to allocate")


def as_sent(error: Exception, *, what: str, remedy: str) -> Exception:
    """Return the error in the form for another process: with its own type if it is of this project, or a plain error
    about a file.

    Other errors become a RuntimeError with their type and text, because unpickling them would load their libraries.
    Exhausted memory becomes a MemoryRanOutError, whose message contains `what` and `remedy`.
    """
    if isinstance(error, AfliteError):
        return error
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, MemoryError) or any(said in text.lower() for said in _OUT_OF_MEMORY):
        return MemoryRanOutError(f"memory ran out {what} ({text}); {remedy}")
    if isinstance(error, OSError) and type(error).__module__ == "builtins":
        return error
    return RuntimeError(str(error) if type(error) is RuntimeError else text)
