"""The Python under the program's calls: which lines of which script led here, read from memory."""
