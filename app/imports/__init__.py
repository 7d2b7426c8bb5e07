"""Import of a register: a reader yields records, and everything behind it does not know the format of the file."""
