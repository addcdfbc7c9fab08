"""What is known of a device. Each number has its unit and its source. Models read these numbers only from facts."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
