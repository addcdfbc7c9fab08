"""The analyses of Kim et al. (2012), "Performance Analysis and Tuning for GPGPUs", sections 3.5.2 and 4.2.

``python -m scripts.lab.kim KERNEL.PY`` runs them on a kernel file (docs/lab/kim.md).

- :mod:`~scripts.lab.kim.work_flow`: the work flow graph of an average sub-group, and its timeline on a device;
- :mod:`~scripts.lab.kim.active_lanes`: the SIMD utilisation of each step;
- :mod:`~scripts.lab.kim.balanced`: whether computing and moving data are balanced;
- :mod:`~scripts.lab.kim.trace`, :mod:`~scripts.lab.kim.memory_hierarchy`: memory traces, and hit rates of caches;
- :mod:`~scripts.lab.kim.stepwise`: the search that changes one parameter at a time;
- :mod:`~scripts.lab.kim.pictures`: pictures of the graph and of hit rates.
"""
