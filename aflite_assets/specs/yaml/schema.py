"""JSON schema of a dataset's YAML file, for editors. The schema accepts every file that the spec models accept. The
schema is less strict than the models, because it does not compare fields with each other. The values of `kind` and
`format` are listed, because an editor uses them to determine the allowed keys of a mapping.
"""

import json
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.sources import HubSource

_VARIABLE = r"\$\{[A-Za-z_]"
_NUMBER = r"^\s*[-+.0-9][-+.0-9_eE]*\s*$"
_SECRET = r"^\$\{secret:[A-Za-z_][A-Za-z0-9_]*\}$"
_BOOLEANS = ("n", "y", "f", "t", "no", "yes", "off", "on", "false", "true")


def dataset_schema() -> JsonSchemaValue:
    """Return the JSON schema (draft 2020-12) of a dataset's YAML file before variables are filled in."""
    schema = DatasetSpec.model_json_schema(schema_generator=_EditorSchema)
    hub = schema["$defs"][HubSource.__name__]["properties"]
    hub["token"]["anyOf"] = [{"type": "string", "pattern": _SECRET}, {"type": "null"}]
    hub["refresh"] = hub["newest"] | {"deprecated": True, "description": "newest, under its old name"}
    required = [name for name in schema.pop("required") if name != "name"]
    head = {"$schema": _EditorSchema.schema_dialect, "title": "aflite dataset"}
    return head | {name: value for name, value in schema.items() if name not in head} | {"required": required}


def schema_text() -> str:
    """Return the schema in the form that `aflite schema` writes."""
    return json.dumps(dataset_schema(), indent=2, ensure_ascii=False) + "\n"


class _EditorSchema(GenerateJsonSchema):
    """A schema generator for pydantic that also allows variables, and numbers written as text, instead of plain
    values.
    """

    def field_title_should_be_set(self, schema: object) -> bool:
        return False

    def int_schema(self, schema: core_schema.IntSchema) -> JsonSchemaValue:
        return _or_text(super().int_schema(schema), *([] if schema.get("strict") else [_NUMBER]))

    def float_schema(self, schema: core_schema.FloatSchema) -> JsonSchemaValue:
        return _or_text(super().float_schema(schema), *([] if schema.get("strict") else [_NUMBER]))

    def bool_schema(self, schema: core_schema.BoolSchema) -> JsonSchemaValue:
        words = ("".join(f"[{letter}{letter.upper()}]" for letter in word) for word in _BOOLEANS)
        values = _or_text(super().bool_schema(schema), f"^({'|'.join(['0', '1', *words])})$")
        return {"anyOf": [*values["anyOf"], {"enum": [0, 1]}]}

    def str_schema(self, schema: core_schema.StringSchema) -> JsonSchemaValue:
        text = super().str_schema(schema)
        return text if text == {"type": "string"} else _or_text(text)

    def literal_schema(self, schema: core_schema.LiteralSchema) -> JsonSchemaValue:
        values = super().literal_schema(schema)
        return _or_text(values) if "enum" in values else values

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
        mapping: JsonSchemaValue = {
            "type": "object",
            "additionalProperties": self.generate_inner(schema["values_schema"]),
        }
        self.update_with_validations(mapping, schema, self.ValidationsMapping.object)
        names: Any = schema["keys_schema"]
        while "schema" in names:
            names = names["schema"]
        rules = super().str_schema(names)
        return mapping if rules == {"type": "string"} else mapping | {"propertyNames": rules}

    def tagged_union_schema(self, schema: core_schema.TaggedUnionSchema) -> JsonSchemaValue:
        return {"oneOf": super().tagged_union_schema(schema)["oneOf"]}


def _or_text(value: JsonSchemaValue, *patterns: str) -> JsonSchemaValue:
    """Return a schema that accepts the value, a text that contains a variable, or a text that fits one of the
    patterns.
    """
    return {"anyOf": [value, {"type": "string", "pattern": "|".join([_VARIABLE, *patterns])}]}
