"""How things are said: tables, colours, units, mistakes in one line; what strangers wrote, harmless."""
