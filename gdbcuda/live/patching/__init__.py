"""What we write into the process for guards: pages, words, trampolines, the jumps to them; and our library there."""
