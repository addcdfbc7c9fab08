"""The program: what a scheduled kernel executes, as frozen values that do not depend on Loopy.

Input: what `reading` finds in a kernel, or JSON. Output: launches, statements, barriers, schedule and dataflow.
"""
