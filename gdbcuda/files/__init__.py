"""Files of this machine: read in bounded pieces, changed whole or not at all, found."""
