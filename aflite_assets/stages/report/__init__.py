"""The stage of the group `report`: the page to read."""
