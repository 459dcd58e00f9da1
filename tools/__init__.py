"""What makes the claims of the registry: the sweep over all releases, the matrix of runs, and the page that shows both.

Nothing in here is shipped; it needs Python 3.11.
"""
