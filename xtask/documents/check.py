"""Judges the documents of `kcl doc` with other people's validators.

check.py SCHEMA OPENAPI [INSTANCES REFUSED]: both are valid documents of their formats; every instance passes its schema,
in both, and every refused one does not pass the JSON Schema.
"""
import json
import sys

import jsonschema
import openapi_spec_validator
from openapi_schema_validator import OAS30Validator


def main(paths):
    load = lambda path: json.load(open(path, encoding="utf-8"))
    schema, openapi = load(paths[0]), load(paths[1])
    jsonschema.Draft202012Validator.check_schema(schema)
    openapi_spec_validator.validate(openapi)
    count = 0
    if len(paths) > 2:
        judge = lambda name: jsonschema.Draft202012Validator(
            {"$schema": schema["$schema"], "$ref": f"#/$defs/{name}", "$defs": schema["$defs"]})
        judge30 = lambda name: OAS30Validator(
            {"$ref": f"#/components/schemas/{name}", "components": openapi["components"]})
        for key, instance in load(paths[2]).items():
            name = key.rsplit("_", 1)[0]
            for validator in (judge(name), judge30(name)):
                errors = [e.message for e in validator.iter_errors(instance)]
                if errors:
                    sys.exit(f"{key}: KCL accepts it, the document does not: {errors}")
            count += 1
        for name, instance in load(paths[3]):
            if judge(name).is_valid(instance):
                sys.exit(f"{name}: {json.dumps(instance)} passes")
            count += 1
    print(f"{len(schema['$defs'])} schemas, {count} instances")


main(sys.argv[1:])
