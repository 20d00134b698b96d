"""Blocks to machine code: LLVM IR as text, compiled through llvmlite, kept on disk."""
