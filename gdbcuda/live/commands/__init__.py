"""What is typed: one thin file a command. Every file here is loaded; a command is a function under ``@command``."""
