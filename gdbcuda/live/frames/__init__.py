"""The API call of a frame: where, by whom, with which arguments; the words of conditions and commands that ask."""
