"""What the walk gives to rules: `NodeSite`, a `Site` that edits the node and emits others into its scope."""

from opsetlift.conversion.walk.site.node_site import NodeSite

__all__ = ["NodeSite"]
