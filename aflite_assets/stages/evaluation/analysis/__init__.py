"""The stage of `analysis`: published results are read into records of `aflite_assets.analysis`. Nothing is trained
here.
"""
