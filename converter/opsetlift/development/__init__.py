"""Tools for people who work on OpsetLift; nothing else imports this room. The command is `opsetlift-dev`."""
