"""The groups of cases, by what a hook library owes. Every file is loaded; a group is a function with @contract."""
