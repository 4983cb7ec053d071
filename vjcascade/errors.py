"""The error tree: one root, leaves that also are the builtin a caller expects.

Every message names the file or value, what is wrong with it, and what to do.
"""


class CascadeError(Exception):
    """Root of every error that vjcascade raises on purpose.

    Examples
    --------
    >>> issubclass(ModelError, CascadeError), issubclass(ModelError, ValueError)
    (True, True)
    """


class ImageError(CascadeError, ValueError):
    """A picture or video cannot be read, or its pixels are not usable.

    Examples
    --------
    >>> from vjcascade.imaging import read_image
    >>> try:
    ...     read_image(__file__)
    ... except ImageError as error:
    ...     print("no picture")
    no picture
    """


class SourceError(CascadeError, ValueError):
    """A folder or list of training pictures is not usable as a whole.

    Examples
    --------
    >>> from vjcascade.evaluation import read_scenes
    >>> try:
    ...     read_scenes(__file__)
    ... except SourceError as error:
    ...     print("no scenes")
    no scenes
    """


class ModelError(CascadeError, ValueError):
    """A model file or a `Cascade` is broken or of a kind that is not supported.

    Examples
    --------
    >>> from vjcascade.cascade import Cascade
    >>> try:
    ...     Cascade.load(__file__)
    ... except ModelError as error:
    ...     print("refused")
    refused
    """


class ModelNotFoundError(CascadeError, FileNotFoundError):
    """There is no model file at the path given.

    Examples
    --------
    >>> from vjcascade.compat import data
    >>> try:
    ...     data.find("haarcascade_of_a_dragon")
    ... except ModelNotFoundError as error:
    ...     print("not there")
    not there
    """


class SettingsError(CascadeError, ValueError):
    """A setting is out of range, or two settings contradict each other.

    Examples
    --------
    >>> from vjcascade.training import TrainingSettings
    >>> try:
    ...     TrainingSettings(hit_rate=2)
    ... except SettingsError as error:
    ...     print(error)
    hit_rate 2.0 is not in (0, 1]
    """


class DeviceError(CascadeError, RuntimeError):
    """A camera, a screen or a video writer is not there or does not answer.

    Examples
    --------
    >>> issubclass(DeviceError, CascadeError)
    True
    """


class MissingLibraryError(CascadeError, ImportError):
    """A library that only this feature needs is not installed.

    Examples
    --------
    >>> issubclass(MissingLibraryError, CascadeError)
    True
    """


class TrainingError(CascadeError, RuntimeError):
    """Training cannot continue with these data: negatives ran out, or the classes cannot be separated.

    Examples
    --------
    >>> issubclass(TrainingError, CascadeError)
    True
    """


class ProcessError(CascadeError, RuntimeError):
    """A worker process was killed.

    Examples
    --------
    >>> issubclass(ProcessError, CascadeError)
    True
    """


class StorageError(CascadeError, OSError):
    """A file at an address cannot be fetched: no connection, no permission, or incomplete.

    Examples
    --------
    >>> issubclass(StorageError, OSError)
    True
    """


class ClusterError(CascadeError, RuntimeError):
    """A cluster cannot be reached, or lost its scheduler or all of its workers.

    Examples
    --------
    >>> issubclass(ClusterError, CascadeError)
    True
    """
