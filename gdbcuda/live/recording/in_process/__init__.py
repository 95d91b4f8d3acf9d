"""The recorder ``--fast``: entries that jump to it, and the rings that the process writes."""
