"""For the tests of others: `assert_equivalent`, and a fixture of the same name that pytest finds by itself."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opsetlift.testing.assertions import assert_equivalent

__all__ = ["assert_equivalent"]


def __getattr__(name: str) -> Any:
    """Imported when it is used: pytest imports the plugin in every run."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from opsetlift.testing import assertions

    return getattr(assertions, name)
