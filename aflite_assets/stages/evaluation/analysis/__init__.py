"""The stage of `analysis`: reading what was published into records of `aflite_assets.analysis`. Nothing is trained."""
