"""A plugin in Python: `kcl run main.k --plugin hello="python3 hello.py"`, then `import kcl_plugin.hello`.

One JSON-RPC request per line on standard input, one answer per line on standard output.
"""
import json
import sys


def add(a, b):
    return a + b


def greet(name="world"):
    return f"hello {name}"


FUNCTIONS = {"add": add, "greet": greet}

for line in sys.stdin:
    request = json.loads(line)
    answer = {"jsonrpc": "2.0", "id": request["id"]}
    try:
        function = FUNCTIONS[request["method"]]
        answer["result"] = function(*request["params"]["args"], **request["params"]["kwargs"])
    except KeyError:
        answer["error"] = {"code": -32601, "message": f"there is no function {request['method']}"}
    except Exception as error:
        answer["error"] = {"code": -32000, "message": str(error)}
    print(json.dumps(answer), flush=True)
