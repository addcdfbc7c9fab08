"""The dataflow of one work-item: its longest dependence chain, its parallelism and its graph, as counts."""
