"""A condition as text and as the tree that was written; nothing is known of any function yet."""
