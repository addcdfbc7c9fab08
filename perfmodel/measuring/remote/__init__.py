"""Campaigns on the devices of Dask workers; ``docs/scale.md`` describes how to use them."""
