"""Studies: measurements made now and then, outside of a release; each writes data or a page of the documentation."""
