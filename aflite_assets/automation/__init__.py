"""Jobs: which assets are made together. Schedules, sensors and conditions belong here too."""
