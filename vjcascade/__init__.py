"""Train Viola-Jones cascades from image folders, and detect with them.

Examples
--------
>>> import vjcascade
>>> cascade = vjcascade.Cascade(vjcascade.Size(24, 24))
>>> cascade.n_stages
0
"""

import lazy_loader

__version__ = "0.2.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
