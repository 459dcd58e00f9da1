"""``hotfix audit``: which known bugs were triggered in a run, by observing a command or by the files that a run left.

`command` runs a command under observation and sums up its records; `from_files` judges a folder, of which `run_folder`
reads what its files tell of the run.
"""
