"""The error tree: one root, leaves that also are the builtin a caller expects.

Every message names the file or value, what is wrong with it, and what to do.
"""


class CascadeError(Exception):
    """Root of every error that vjcascade raises on purpose."""


class ImageError(CascadeError, ValueError):
    """A picture or video cannot be read, or its pixels are not usable."""


class SourceError(CascadeError, ValueError):
    """A folder or list of training pictures is not usable as a whole."""


class ModelError(CascadeError, ValueError):
    """A model file or a `Cascade` is broken or of a kind that is not supported."""


class ModelNotFoundError(CascadeError, FileNotFoundError):
    """There is no model file at the path given."""


class SettingsError(CascadeError, ValueError):
    """A setting is out of range, or two settings contradict each other."""


class DeviceError(CascadeError, RuntimeError):
    """A camera, a screen or a video writer is not there or does not answer."""


class MissingLibraryError(CascadeError, ImportError):
    """A library that only this feature needs is not installed."""


class TrainingError(CascadeError, RuntimeError):
    """Training cannot go on with the data there is: negatives ran out, or classes cannot be told apart."""


class ProcessError(CascadeError, RuntimeError):
    """A process that did a part of the work was ended from outside."""
