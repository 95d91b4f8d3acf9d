"""Hook libraries and code that nobody has named: looked for, noticed, shown with the rest."""
