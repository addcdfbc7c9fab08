"""Facts of a device from its probes: small microbenchmarks, each with a curve that tells one property.

The times are taken by :mod:`perfmodel.measuring.probes` and kept in a store's ``probes.jsonl``. Here they become facts,
with no device. What a curve does not tell clearly gives no fact. ``docs/facts.md`` states each rule.
"""
