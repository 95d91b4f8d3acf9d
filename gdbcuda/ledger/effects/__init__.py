"""What one call does to memory, by its arguments and the API's notes."""
