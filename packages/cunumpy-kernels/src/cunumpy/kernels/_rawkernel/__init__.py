"""Kernels in Python syntax: from a function's source to CUDA C++.

`to_cuda` is the way in, and has the table of what translates which node of Python's syntax tree: statements
(`statements`, `assignments`, `loops`, `functions`) and expressions (`expressions`, `conditions`, `lookups`, `elements`,
`calls`). All of them share the `translation` of one function in its course, and its `program`. Types are in `types`,
values in `values`, and what C++ makes of an operator in `operators`.
"""
