"""How an asset's step runs: its stage tried again, the run's lock and record, checks left out. Defines no assets."""
