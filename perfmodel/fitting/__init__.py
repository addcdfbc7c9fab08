"""From measured rows to weights in seconds per unit of a feature.

Rows become a matrix, to which weights are fitted (`design`): by linear least squares (`least_squares`), from several
starting points (`nonlinear`), or for a maximum of resources (`resources`). `family_fits` has all fits of a family to a
device's rows; their errors give intervals (`conformal`), ties (`selection`) and the errors of anchored predictions
(`anchored`). `weights_file` reads and writes the results.

Names are loaded at their first use: a prediction reads weights and does not need scikit-learn.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
