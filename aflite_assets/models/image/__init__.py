"""Image classifiers from timm. The package builds and loads the classifiers and converts images to pixels. The package
`training` trains the classifiers.
"""
