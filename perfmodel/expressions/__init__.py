"""The language of models' formulas: parsing, checks, derivatives, ranges and generated code."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
