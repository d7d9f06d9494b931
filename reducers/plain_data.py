"""Any value as plain data: what JSON can hold, by msgspec's conventions.

Bytes are base64, moments ISO 8601, sets lists. What even msgspec cannot turn into JSON, such as a mapping whose keys
are no text, is written so that nothing of it is lost to a reader.
"""

from typing import Any

import msgspec


def plain_data(value: Any, *, ordered: bool = False) -> Any:
    """A value, as JSON can hold it.

    Args:
        value: the value.
        ordered: put the members of sets and the keys of mappings into an order that depends on them alone.
    """
    try:
        return msgspec.to_builtins(value, str_keys=True, order="deterministic" if ordered else None)
    except (TypeError, RecursionError):
        return _by_hand(value, ordered)


def _by_hand(value: Any, ordered: bool) -> Any:
    match value:
        case msgspec.Struct():
            config = value.__struct_config__
            fields = {
                field.encode_name: plain_data(getattr(value, field.name), ordered=ordered)
                for field in msgspec.structs.fields(value)
            }
            return fields if config.tag_field is None else {config.tag_field: config.tag, **fields}
        case dict():
            entries = {_key(key): plain_data(item, ordered=ordered) for key, item in value.items()}
            return dict(sorted(entries.items())) if ordered else entries
        case set() | frozenset():
            members = [plain_data(item, ordered=ordered) for item in value]
            return sorted(members, key=msgspec.json.encode) if ordered else members
        case list() | tuple():
            return [plain_data(item, ordered=ordered) for item in value]
        case msgspec.msgpack.Ext(code=code, data=data):
            return {"ext": code, "data": plain_data(data)}
    return repr(value)


def _key(key: Any) -> str:
    """A mapping's key: text as it is, anything else as the JSON that it would be."""
    return key if isinstance(key, str) else msgspec.json.encode(plain_data(key)).decode()
