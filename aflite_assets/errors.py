"""The errors that this project raises deliberately: a base class, and one subclass for each kind of problem.

Every message states what is wrong, the value received and what to do.
"""


class AfliteError(Exception):
    """Base class of the errors that this project raises deliberately.

    `may_pass`: whether the same call may succeed later with the same input. `refuses`: whether the same input always
    fails, so that the user must change the input.
    """

    may_pass: bool = False
    refuses: bool = False


class InvalidInputError(AfliteError, ValueError):
    """Error for arrays or settings that violate a function's contract."""

    refuses = True


class SpecError(AfliteError, ValueError):
    """Error for an invalid YAML file of a dataset; the message names file, field, value and remedy."""

    refuses = True


class DataError(AfliteError, ValueError):
    """Error for data that contradict the dataset's YAML file, such as a missing column or an unknown label."""

    refuses = True


class MissingDataError(DataError):
    """Error for missing data: a file does not exist, or the hub cannot be reached and the cache is empty."""

    refuses = False


class UnsettledDataError(DataError):
    """Error for data that are not ready: a file is still being written, or is not completely hashed yet."""

    refuses = False


class ArtefactFoundError(DataError):
    """Error for an artefact found by the scan, if the dataset's YAML file sets `scan: {stop: artefact}`."""


class ModelError(AfliteError):
    """Error for an encoder or evaluator that cannot be loaded or does not fit the data."""


class StudyError(AfliteError):
    """Error for an installed study that cannot be loaded or does not fit this project."""


class StoreError(AfliteError):
    """Error of the result store when it reads or saves a result."""


class WorkerLostError(AfliteError):
    """Error for a worker process that ended early, because it was killed or ran out of memory."""

    may_pass = True


class ClusterError(AfliteError):
    """Error for a cluster that cannot be reached or has too few resources for the work."""

    may_pass = True


class NodeRefusedError(ClusterError):
    """Error for a cluster node that could give other results than this machine.

    For example, the node has different library versions, or does not share the folder `AFLITE_HOME`.
    """

    may_pass = False


class MemoryRanOutError(AfliteError):
    """Error for work that needed more memory than the machine or the GPU had."""

    may_pass = True


class TimeLimitError(AfliteError):
    """Error for a result that took longer to compute than the time limit."""


class TooManyTriesError(AfliteError):
    """Error for a result whose computation failed so often that refreshes no longer retry it."""


class StoreUnreachableError(StoreError):
    """Error for an object store whose server does not respond, or asks clients to retry later."""

    may_pass = True


class StoreAccessError(StoreError):
    """Error for an object store that denies access.

    Possible reasons are missing credentials, insufficient rights, a wrong region, or a bucket that does not exist.
    """


class UnsupportedStoreError(StoreError):
    """Error for an operation that an object store does not support.

    For example, a store ignores the conditions of conditional writes, or a command works only with a local folder.
    """


class LostObjectsError(StoreError):
    """Error for a published result whose files are no longer in the object store."""


class DamagedManifestError(StoreError):
    """Error for a result whose manifest changed after publication. `problem`: a phrase that describes the change."""

    problem: str = ""


class DatasetBusyError(StoreError):
    """Error for a dataset that another process is running; a later attempt may succeed."""


class TrackingError(AfliteError):
    """Error for a tracking server or database that cannot be reached or does not accept logged values."""


class NotificationError(AfliteError):
    """Error for an alert that cannot be stored or delivered; the message never contains a webhook's address."""


_OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "not enough memory", "_alloc_failed", "unable to allocate")


def as_sent(error: Exception, *, what: str, remedy: str) -> Exception:
    """Return the error in a form that can be sent to another process.

    An AfliteError or a built-in OSError keeps its type. An error about exhausted memory becomes a MemoryRanOutError
    whose message contains `what` and `remedy`. Other errors become a RuntimeError with their type and text, because
    unpickling them would import their libraries.
    """
    if isinstance(error, AfliteError):
        return error
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, MemoryError) or any(said in text.lower() for said in _OUT_OF_MEMORY):
        return MemoryRanOutError(f"memory ran out {what} ({text}); {remedy}")
    if isinstance(error, OSError) and type(error).__module__ == "builtins":
        return error
    return RuntimeError(str(error) if type(error) is RuntimeError else text)
