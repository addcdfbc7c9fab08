"""Traces: the requests to global memory of some work-groups, one by one, in program order.

Input: counts of a kernel and all sizes. Output: arrays with the line, array and direction of each request.
"""
