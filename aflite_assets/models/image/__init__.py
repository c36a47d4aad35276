"""timm image classifiers: building, loading, and how images become pixels. Training: `training`."""
