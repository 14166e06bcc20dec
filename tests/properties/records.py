"""Any record that the types allow, drawn from the types themselves: a new field is drawn as soon as it is there."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import strategies as st

text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)


def anything_of(kind: Any) -> st.SearchStrategy[Any]:
    """Values of a type, by msgspec's own reading of it."""
    return _drawn(msgspec.inspect.type_info(kind))


def _drawn(info: msgspec.inspect.Type) -> st.SearchStrategy[Any]:  # noqa: PLR0911  one line per kind of type
    kinds = msgspec.inspect
    if isinstance(info, kinds.UnionType):
        return st.one_of([_drawn(one) for one in info.types])
    if isinstance(info, kinds.StructType):
        return st.builds(info.cls, **{field.name: _drawn(field.type) for field in info.fields})
    if isinstance(info, kinds.VarTupleType):
        return st.lists(_drawn(info.item_type), max_size=4).map(tuple)
    if isinstance(info, kinds.ListType):
        return st.lists(_drawn(info.item_type), max_size=4)
    if isinstance(info, kinds.DictType):
        return st.dictionaries(_drawn(info.key_type), _drawn(info.value_type), max_size=3)
    if isinstance(info, kinds.LiteralType):
        return st.sampled_from(info.values)
    if isinstance(info, kinds.IntType):
        return st.integers(min_value=info.ge, max_value=info.le if info.le is not None else 2**63 - 1)
    plain: dict[type, st.SearchStrategy[Any]] = {
        kinds.NoneType: st.none(),
        kinds.BoolType: st.booleans(),
        kinds.FloatType: st.floats(allow_nan=False, allow_infinity=False),
        kinds.StrType: text,
        kinds.BytesType: st.binary(max_size=20),
        kinds.UUIDType: st.uuids(),
    }
    return plain[type(info)]
