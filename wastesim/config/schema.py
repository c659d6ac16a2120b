"""The JSON Schema of an experiment file, for editors that complete and check as one types.

It accepts whatever the loader accepts; of rules that span several keys it knows nothing, and
with `extends:` nothing is required, because another file may say it.
"""

from __future__ import annotations

import copy
import json
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from wastesim.config.equivalence import Equivalence
from wastesim.config.experiment import Experiment
from wastesim.config.extends import KEY
from wastesim.config.quality import Laboratory, Quality
from wastesim.config.validation import keys_of

_BOUNDS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}
_PARTIAL = "Partial"
_STUDIES: dict[str, type[Laboratory]] = {"quality": Quality, "equivalence": Equivalence}
_SHORT_FORM: JsonSchemaValue = {"type": ["string", "number"]}


def experiment_schema() -> dict[str, Any]:
    """The schema as a tree, draft 2020-12."""
    strict = _tidy(Experiment.model_json_schema(schema_generator=_ForEditors))
    whole = {key: strict.pop(key) for key in ("title", "description", "$defs")}
    definitions = whole["$defs"] | {"Experiment": strict}
    extends = {"type": "string", "description": "A file of whose keys these are changes."}
    strict["properties"][KEY] = extends
    chosen: dict[str, Any] = {
        "if": {"required": [KEY]},
        "then": {"$ref": f"#/$defs/{_PARTIAL}Experiment"},
        "else": {"$ref": "#/$defs/Experiment"},
    }
    for study, model in _STUDIES.items():
        chosen = _for_study(study, model, definitions, chosen)
    return {
        "$schema": GenerateJsonSchema.schema_dialect,
        **whole,
        "type": "object",
        **chosen,
        "$defs": {**definitions, **_partial(definitions)},
    }


def _for_study(
    study: str, model: type[Laboratory], definitions: dict[str, Any], otherwise: dict[str, Any]
) -> dict[str, Any]:
    """A study without a server has a shape of its own, which is added to the definitions."""
    made = _tidy(model.model_json_schema(schema_generator=_ForEditors))
    definitions.update(made.pop("$defs", {}))
    definitions[model.__name__] = made
    return {
        "if": {"required": ["study"], "properties": {"study": {"const": study}}},
        "then": {"$ref": f"#/$defs/{model.__name__}"},
        "else": otherwise,
    }


def schema_text() -> str:
    """What `--schema` prints."""
    return json.dumps(experiment_schema(), indent=1, ensure_ascii=False)


class _ForEditors(GenerateJsonSchema):
    """Adds what validators before the models allow: other names of keys, and short forms."""

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        """A model with every name that its fields may have."""
        made = super().model_schema(schema)
        for name, info in schema["cls"].model_fields.items():
            first, *others = keys_of(name, info)
            if others:
                _add_names(made, first, others)
        return made

    def function_before_schema(
        self, schema: core_schema.BeforeValidatorFunctionSchema
    ) -> JsonSchemaValue:
        """A union that is read by a function first may have a short form: a name, a number."""
        made = super().function_before_schema(schema)
        return {"anyOf": [made, _SHORT_FORM]} if "oneOf" in made else made


def _add_names(made: JsonSchemaValue, first: str, others: list[str]) -> None:
    """Long names (`memory_bytes`) take plain numbers too."""
    for other in others:
        made["properties"][other] = {"anyOf": [made["properties"][first], {"type": "number"}]}
    if first in made.get("required", ()):
        made["required"].remove(first)
        either = {"anyOf": [{"required": [name]} for name in (first, *others)]}
        made.setdefault("allOf", []).append(either)


def _tidy(node: Any) -> Any:
    """Bounds by their names in JSON Schema, and any member of a union instead of exactly one."""
    if isinstance(node, list):
        return [_tidy(item) for item in node]
    if not isinstance(node, dict):
        return node
    tidy = {_BOUNDS.get(key, key): _tidy(value) for key, value in node.items()}
    if "oneOf" in tidy:
        tidy["anyOf"] = tidy.pop("oneOf")
        tidy.pop("discriminator", None)
    return tidy


def _partial(definitions: dict[str, Any]) -> dict[str, Any]:
    """The definitions again, with nothing required."""
    return {
        f"{_PARTIAL}{name}": _relaxed(copy.deepcopy(made)) for name, made in definitions.items()
    }


def _relaxed(node: Any) -> Any:
    if isinstance(node, list):
        return [_relaxed(item) for item in node]
    if not isinstance(node, dict):
        return node
    kept = {key: _relaxed(value) for key, value in node.items() if key not in ("required", "allOf")}
    if isinstance(kept.get("$ref"), str):
        kept["$ref"] = kept["$ref"].replace("#/$defs/", f"#/$defs/{_PARTIAL}")
    return kept
