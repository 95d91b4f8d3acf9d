"""The checks, by what they look at. Every file here is loaded; a check is a function with the decorator."""
