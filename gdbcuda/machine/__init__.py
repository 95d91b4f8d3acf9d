"""Machine code and the calling convention: where arguments are, code read and written, detours made of both.

A guard's test comes from ``condition/machine_code``; its way in and out from here."""
