"""Probes: microbenchmarks that read from a device what models need, in OpenCL C.

Each probe is one file with a value ``PROBE``. :func:`perfmodel.measuring.probes.campaign.measure_probes` runs them and
keeps the times in a store's ``probes.jsonl``; :mod:`perfmodel.facts.probed` makes facts of them.
"""
