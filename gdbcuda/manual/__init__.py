"""The manual: a page a subject, as Markdown beside this file; read, shown in a terminal and searched. Pure."""
