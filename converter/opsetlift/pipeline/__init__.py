"""The stages in order and their presets: `convert`, `normalize` and `reach`."""
