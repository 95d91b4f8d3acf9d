"""Routes and requests as tables and sentences."""
