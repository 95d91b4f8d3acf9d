"""The objects of the process: where they are, their functions, and what their files say."""
