"""The native compiler: a graph becomes machine code, through LLVM."""
