"""Debug info through pyelftools, as much of it as the checks ask for."""
