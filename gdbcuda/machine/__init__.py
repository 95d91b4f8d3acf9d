"""Machine code and the calling convention: where arguments are, code read and written, detours made of both."""
