"""What bounds a kernel on a device: balance, benefits, roofline points, work flow graphs and caches.

The analyses follow Kim et al. (2012), chapter 2 and sections 4.1.3 and 4.2. They return numbers, which
:mod:`perfmodel.report` draws.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
