"""A client of the automation API that knows nothing but the reference's own messages, which come with its wheel (kcl-lib).

usage: rpc.py ADDRESS TOKEN SERVER PROTO

One JSON line in: {"carrier", "method", "args"}; one out: {"result"} or {"error"}. The carriers are the wheel itself, and our server
over gRPC, JSON-RPC over HTTP, REST, and JSON-RPC on standard streams. The first line says which version of the wheel this is, which
methods it has, and what our proto file lacks of its messages.
"""

import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from importlib.metadata import version

import grpc
import kcl_lib
import kcl_lib.plugin
import kcl_lib.api.spec_pb2 as spec
from google.protobuf import json_format, message_factory

ADDRESS, TOKEN, SERVER, PROTO = sys.argv[1:5]
SERVICES = spec.DESCRIPTOR.services_by_name


def described(method):
    """The method as the reference describes it."""
    service, _, name = method.partition(".")
    return SERVICES[service].methods_by_name.get(name) if service in SERVICES else None


def message(descriptor, args):
    return json_format.ParseDict(args, message_factory.GetMessageClass(descriptor)())


def plain(answer):
    """The answer as the reference's messages understand it."""
    return {"result": json_format.MessageToDict(answer, preserving_proto_field_name=True)}


def ask_wheel(method, args):
    found = described(method)
    body = message(found.input_type, args).SerializeToString() if found else b""
    try:
        answer = bytes(kcl_lib.call_with_plugin_agent(method.encode(), body, kcl_lib.plugin.plugin_agent_addr))
    except BaseException as problem:  # a panic of the wheel is no Exception
        return {"error": str(problem)}
    if answer.startswith(b"ERROR:"):
        return {"error": answer[len(b"ERROR:") :].decode()}
    if found is None:
        return {"error": "RAW " + repr(answer)}
    return plain(message_factory.GetMessageClass(found.output_type).FromString(answer))


def ask_grpc(channel, method, args):
    found = described(method)
    path = "/" + method.replace(".", "/")
    if found:
        path = f"/{found.containing_service.full_name}/{found.name}"
    reply = message_factory.GetMessageClass(found.output_type).FromString if found else bytes
    call = channel.unary_unary(path, request_serializer=lambda m: m.SerializeToString(), response_deserializer=reply)
    question = message(found.input_type, args) if found else spec.PingArgs()
    try:
        return plain(call(question, metadata=[("authorization", f"Bearer {TOKEN}")], timeout=60))
    except grpc.RpcError as problem:
        return {"error": problem.details()}


def as_json(method, args):
    """The message as a client of the reference writes it in JSON."""
    found = described(method)
    return json_format.MessageToDict(message(found.input_type, args), preserving_proto_field_name=True) if found else args


def from_json(method, result):
    found = described(method)
    if found is None:
        return {"result": result}
    # A client of an older reference does not know what a newer one has added.
    answer = message_factory.GetMessageClass(found.output_type)()
    return plain(json_format.ParseDict(result, answer, ignore_unknown_fields=True))


def post(path, body):
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"http://{ADDRESS}{path}", json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as problem:
        return json.load(problem)


def ask_rest(method, args):
    answer = post(f"/api:protorpc/{method}", as_json(method, args))
    return {"error": answer["error"]} if answer["error"] else from_json(method, answer["result"])


def rpc(method, args):
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": as_json(method, args)}


def of_rpc(method, answer):
    return {"error": answer["error"]["message"]} if "error" in answer else from_json(method, answer["result"])


def ask_stdio(server, method, args):
    server.stdin.write(json.dumps(rpc(method, args)) + "\n")
    server.stdin.flush()
    return of_rpc(method, json.loads(server.stdout.readline()))


SCALARS = {1: "double", 3: "int64", 4: "uint64", 5: "int32", 8: "bool", 9: "string", 12: "bytes", 13: "uint32"}


def written(field):
    """A field as a proto file writes it."""
    kind = field.message_type.name if field.message_type else SCALARS.get(field.type, str(field.type))
    if field.message_type and field.message_type.GetOptions().map_entry:
        entry = field.message_type.fields_by_name
        value = entry["value"]
        value = value.message_type.name if value.message_type else SCALARS[value.type]
        return f"map<{SCALARS[entry['key'].type]}, {value}> {field.name} = {field.number}"
    repeated = getattr(field, "is_repeated", None)
    repeated = field.label == field.LABEL_REPEATED if repeated is None else repeated
    return f"{'repeated ' if repeated else ''}{kind} {field.name} = {field.number}"


def lacking():
    """What our proto file does not have as the reference has it."""
    with open(PROTO, encoding="utf-8") as file:
        text = file.read()
    blocks = dict(re.findall(r"^message (\w+) \{\n(.*?)^\}", text, re.M | re.S))
    missing = []
    for name, descriptor in spec.DESCRIPTOR.message_types_by_name.items():
        known = {re.sub(r"^optional ", "", line.strip(" ;")) for line in blocks.get(name, "").splitlines()}
        missing += [f"{name}: {written(field)}" for field in descriptor.fields if written(field) not in known]
    return missing


def main():
    # The wheel prints now and then: keep the protocol on its own channel.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    channel = grpc.insecure_channel(ADDRESS)
    server = subprocess.Popen([SERVER, "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    carriers = {
        "wheel": ask_wheel,
        "grpc": lambda method, args: ask_grpc(channel, method, args),
        "json-rpc": lambda method, args: of_rpc(method, post("/", rpc(method, args))),
        "rest": ask_rest,
        "stdio": lambda method, args: ask_stdio(server, method, args),
    }
    methods = [f"{service}.{method.name}" for service in SERVICES for method in SERVICES[service].methods]
    hello = {"version": version("kcl_lib"), "methods": methods, "lacking": lacking(), "carriers": list(carriers)}
    out.write(json.dumps(hello) + "\n")
    out.flush()
    for line in sys.stdin:
        question = json.loads(line)
        try:
            answer = carriers[question["carrier"]](question["method"], question["args"])
        except (OSError, ValueError, json_format.Error) as problem:
            answer = {"error": f"the client cannot use it: {problem!r}"}
        # The wheel names files of its own by chance.
        text = re.sub(r"_kcl_test_\d+", "_kcl_test_0", json.dumps(answer, ensure_ascii=False))
        out.write(re.sub(r"/tmp/\.tmp\w{6}(?=:)", "/tmp/.tmp0", text) + "\n")
        out.flush()
    server.stdin.close()
    server.wait()


main()
