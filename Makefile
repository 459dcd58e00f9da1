# The two commands: `make demo` and `make test`. Each sets up what it needs.
PYTHON ?= python3
NOX = .venv/bin/nox

.PHONY: test demo clean

test: $(NOX)
	$(NOX) -s lint docs core tests browser formats

demo: $(NOX)
	$(NOX) -s demo

$(NOX):
	$(PYTHON) -m venv .venv
	.venv/bin/python -m pip install --quiet nox uv

clean:
	rm -rf .venv .nox build dist *.egg-info
