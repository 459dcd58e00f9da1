"""The cost of hotfix: ratios, each measured in one run; see docs/benchmarks.md."""
