"""Records: what steps cost, modelled or measured, one JSON file for each device and family below the folder records/.

schema.py says what a file holds; files.py reads and writes it; recording.py makes it; stale.py and recount.py say whether
it still holds; table.py shows it.
"""
