"""The report of the trail for whoever asks how it was known: described once, written in several formats."""
