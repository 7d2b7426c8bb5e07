"""What a person does: each function takes an act, writes its trail with it, and opens and commits no transaction."""
