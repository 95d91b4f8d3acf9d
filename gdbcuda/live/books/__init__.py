"""The adapters of the session's hook libraries, and what they lead to in the process."""
