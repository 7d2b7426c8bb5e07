"""What a screen or a report shows: select into frozen rows. Reads only, and never writes."""
