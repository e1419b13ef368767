"""The two loops over all markers of ``landau_damping.py``, as kernels: a folder for each, ported one at a time.

``push/`` holds, each as a function of the same name with the same parameters:

=====================  ================================================================================================
push_kernels.py        the loop in plain Python, written first: what the kernel means. Pyccel makes compiled code of it.
push_numpy.py          the same with array operations, for machines without Pyccel
push_cuda.cu           the same for one marker a thread, for the GPU
push_test_args.py      arguments to try them with: all have to give the same
=====================  ================================================================================================

`cunumpy.kernels.KernelCatalog` makes a kernel of each folder. Called with NumPy arrays it runs the best of the host
versions that there are, with CuPy arrays the CUDA source. To port a loop of a program of your own:

1. Put the loop into ``name/name_kernels.py`` and call it through the catalog. Nothing else changes.
2. Write ``name/name_test_args.py``, and a test that the versions agree; let ``catalog.check_signatures()`` and
   ``catalog.check_cuda()`` run there, too. They need no GPU.
3. Write ``name/name_cuda.cu``. Until then, device arrays are refused by an error that names the missing file, or, with
   ``missing_cuda="fallback"``, copied to the host and back, with a warning.

The next loop comes when this one is right; the program runs all the time.
"""
