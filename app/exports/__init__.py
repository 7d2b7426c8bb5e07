"""Files that are made of what Onus knows. The words come from whoever asks; here is only how they are written."""
