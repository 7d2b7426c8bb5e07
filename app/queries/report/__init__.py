"""What a report of the trail is made of: each section as a query that is read row by row, narrowed by one scope."""
