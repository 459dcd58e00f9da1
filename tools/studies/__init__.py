"""Studies: what is measured once in a while, outside of a release; each writes data or a page of the documentation."""
