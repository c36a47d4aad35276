"""The stage of the group `report`: the HTML report and its files."""
