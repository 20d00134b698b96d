"""Kernels that teach: one package per problem, one file per step. See kernels.ladder."""
