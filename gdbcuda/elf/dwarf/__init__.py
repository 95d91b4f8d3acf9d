"""Debug info, as much of it as the checks ask for."""
