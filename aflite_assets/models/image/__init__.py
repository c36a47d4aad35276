"""timm image classifiers: building, loading, and turning images into pixels. Training is in `training`."""
