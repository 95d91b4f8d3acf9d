"""Memory that several threads, processes or devices ask for at the same instant."""
