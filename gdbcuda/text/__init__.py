"""How things are said: tables, colours, units, options, mistakes in one line; what strangers wrote, harmless."""
