"""Image classifiers from timm: building and loading them, and turning images into pixels. The package `training` trains
them.
"""
