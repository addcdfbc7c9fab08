"""The dataflow of one work-item: its longest chain, its parallelism and its graph.

Input: a program with its dataflow and the sizes of its sets. Output: chains, ratios and a graph of counts.
"""
