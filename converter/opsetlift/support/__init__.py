"""What every room may use: errors, refusals, checks of arguments, plug-ins."""
