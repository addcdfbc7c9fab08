"""Timing of kernels on a device: the paper's protocol, in a campaign that can be resumed.

The time of a kernel (Stevens and Kloeckner, section 4.2) is the minimum of 30 runs. A shared machine may be slow for
longer than 30 runs in a row, so they are spread over three visits far apart, and what disagrees then is visited again.
The first two runs of each visit are dropped. A run is timed by the *host's* clock, from just before the kernel is
enqueued on an idle in-order queue until it has finished. This includes the launch overhead, as a call in a program
does, and as the constant term of the models does. Arguments are set and buffers are filled before. The device's own
profiling times of the same runs are kept too. ``docs/measuring.md`` describes the whole protocol.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
