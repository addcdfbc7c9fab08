"""From measured rows to weights in seconds per unit of a feature.

Rows become a matrix, from which weights are fitted (`design`): by linear least squares (`least_squares`, `linear`),
from several starting points (`nonlinear`), or for a maximum of resources (`resources`); `estimators` has the first two
in scikit-learn's conventions. `family_fits` has all fits of a family to a device's rows: from its predictions of rows
that a fit has not seen come intervals (`conformal`), ties (`selection`) and the errors of predictions that one run
scales (`anchored`). `weights_file` is what is kept of them.

Names are loaded at their first use: a prediction reads weights, and needs no scikit-learn.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
