"""Which threads of the process wait for a lock, and where who has it stands."""
