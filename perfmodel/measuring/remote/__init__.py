"""Campaigns on the devices of Dask workers.

A worker opens the device, checks outputs there and times runs. What decides stays with the caller: sizes, order,
visits, counts and the store. So a campaign is the same as on a device of this machine, but for its bench
(:class:`.bench.WorkersBench`). ``docs/scale.md`` describes how to use it.
"""
