"""What a log shows of a GPU: its work, what is concluded of it, and how that reads."""
