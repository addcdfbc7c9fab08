"""Tables and pictures of predictions, evaluations and analyses; nothing is computed here.

Names are loaded at their first use: a table of predictions needs no evaluations and no matplotlib.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
