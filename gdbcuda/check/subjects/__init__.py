"""The files under check, and what several checks ask of them."""
