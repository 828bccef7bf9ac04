"""Tells the reference about fields: a class's are listed with the comments behind them."""

import griffe

from docs.hooks import describe_fields


class Fields(griffe.Extension):
    """Adds a section `Attributes` to the docstrings of named tuples and dataclasses."""

    def on_class_members(self, *, node, cls, agent, **options) -> None:
        """Called with a class when its members are known."""
        kinds = [str(base) for base in cls.bases] + [str(each.value) for each in cls.decorators]
        fields = describe_fields(cls.source)
        if fields and any("NamedTuple" in kind or "dataclass" in kind for kind in kinds):
            section = "\n".join(["Attributes:", *(f"  {n}: {text}" for n, text in fields.items())])
            cls.docstring = cls.docstring or griffe.Docstring("", parent=cls)
            cls.docstring.value += f"\n\n{section}"
