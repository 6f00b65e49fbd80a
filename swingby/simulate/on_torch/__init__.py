"""Batches as tensors of torch, on the CPU or on a CUDA device; torch is imported on first use."""
