"""What a GPU is worth here, measured in one go of a few minutes; see ``benchmarks/README.md``.

``bash benchmarks/on_gpu.sh`` sets up what is needed and runs ``python -m benchmarks.on_gpu``.
"""
