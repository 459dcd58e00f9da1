"""What hotfix costs, each as a ratio measured in one run; docs/benchmarks.md says how."""
