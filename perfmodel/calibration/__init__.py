"""Fitting and measuring together: calibrate a device, fit and judge measured rows, and check the installation."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
