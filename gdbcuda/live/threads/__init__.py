"""The threads of the process: where they stand, what is in their registers at a call, the children that they make."""
