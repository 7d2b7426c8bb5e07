"""The pure core: dates, thresholds, codes and folded texts.

No Flask, no database, no other package of ours; nothing here reads a clock.
"""
