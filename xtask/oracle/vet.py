"""Verdicts of `kcl vet` beside the wheel's ValidateCode: vet.py KCL COUNT SEED.

Makes schemas and data that mostly fit, as JSON or YAML, asks both, and compares whether the data holds, and of the first error
its code and its line in the data. Exits with 1 if something differs.
"""

import json
import os
import random
import re
import subprocess
import sys
import tempfile

import kcl_lib.api as api

WHEEL = api.API()


def ask(path, code, schema):
    """None if the data holds, else the code of the first error and its line if that is one of the data."""
    form = path.rpartition(".")[2]
    args = api.ValidateCodeArgs(datafile=path, code=code, format=form, schema=schema, attribute_name="value")
    try:
        answer = WHEEL.validate_code(args)
        if answer.success:
            return None, ""
        said = answer.err_message
    except Exception as problem:
        said = str(problem)
    said = re.sub(r"\x1b\[[0-9;]*m", "", said)
    code = re.search(r"error\[(E\w+)\]", said)
    place = re.search(r"-->\s+(?:File )?(\S+?):(\d+)", said)
    line = int(place[2]) if place and place[1] == path else None
    return (code[1] if code else "E3M38", line), said


def yaml(value, indent=0):
    """What follows a key or a dash."""
    before = " " * indent
    if isinstance(value, dict) and value:
        return "\n" + "".join(f"{before}{key}:{yaml(inner, indent + 2)}" for key, inner in value.items())
    if isinstance(value, list) and value:
        items = (yaml(inner, indent + 2) for inner in value)
        return "\n" + "".join(f"{before}-{' ' + item.strip(' ' + chr(10)) + chr(10) if ':' in item else item}" for item in items)
    return f" {json.dumps(value)}\n"


def loadable(data):
    """The wheel cannot read whole floats in YAML: docs/divergences.md, vet-whole-floats."""
    if isinstance(data, dict):
        return all(map(loadable, data.values()))
    if isinstance(data, list):
        return all(map(loadable, data))
    return not isinstance(data, float) or data % 1 != 0


def ty(r,d,names):
    k=r.choice(['int','str','float','bool','[]','{}','lit','|','S','any']) if d<2 else r.choice(['int','str','float','bool'])
    if k=='[]': return '['+ty(r,d+1,names)+']'
    if k=='{}': return '{str:'+ty(r,d+1,names)+'}'
    if k=='lit': return r.choice(['"a"|"b"','1|2|3','True'])
    if k=='|': return ty(r,d+2,names)+'|'+ty(r,d+2,names)
    if k=='S': return r.choice(names) if names else 'int'
    return k


def val(r,t,schemas,d=0):
    if r.random()<0.07: return r.choice([None,1,"x",1.5,True,[],{}, [1], {"q":1}])
    if t.startswith('['): return [val(r,t[1:-1],schemas,d+1) for _ in range(r.randint(0,3))]
    if t.startswith('{'): return {r.choice('abcd'):val(r,t[5:-1],schemas,d+1) for _ in range(r.randint(0,3))}
    if '|' in t: return val(r,r.choice(t.split('|')),schemas,d)
    if t.startswith('"'): return t[1:-1]
    if t.isdigit(): return int(t)
    if t=='True': return True
    if t=='int': return r.choice([0,1,5,-3,100])
    if t=='str': return r.choice(["","a","abc","5"])
    if t=='float': return r.choice([1.5,2.0,3,-0.25])
    if t=='bool': return r.random()<0.5
    if t=='any': return r.choice([1,"a",[1],{"z":1}])
    if t in schemas:
        o={}
        for (n,t2,opt) in schemas[t]['attrs']:
            if opt and r.random()<0.5: continue
            if r.random()<0.06: continue
            o[n]=val(r,t2,schemas,d+1)
        if r.random()<0.06: o[r.choice(['zz','b','c'])]=1
        if schemas[t]['idx'] and r.random()<.5: o['extra']=val(r,schemas[t]['idx'],schemas,d+1)
        return o
    return 1


def lit(t,r):
    if t=='int': return '7'
    if t=='str': return '"d"'
    if t=='bool': return 'False'
    if t=='float': return '2.5'
    if t.startswith('['): return '[]'
    if t.startswith('{'): return '{}'
    return None


def gen(r):
    schemas={}; code=''
    names=[]
    for n in ['A','B','C'][:r.randint(1,3)]:
        attrs=[]; text=''; base=None
        if names and r.random()<0.25: base=r.choice(names)
        text=f'schema {n}'+(f'({base})' if base else '')+':\n'
        for a in ['p','q','r','s'][:r.randint(1,4)]:
            a=a+(n.lower() if base else '')
            t=ty(r,0,names); opt=r.random()<0.3
            d=lit(t,r) if r.random()<0.3 else None
            text+=f'    {a}{"?" if opt else ""}: {t}'+(f' = {d}' if d else '')+'\n'
            attrs.append((a,t,opt or d is not None))
        idx=None
        if r.random()<0.2 and not base:
            idx=r.choice(['int','str','any']); text+=f'    [...str]: {idx}\n'
        checks=[]
        for (a,t,opt) in attrs:
            if r.random()<0.4:
                if t in('int','float'): checks.append(f'{a} >= 0'+(f' if {a}' if opt else '')+r.choice(['',f', "{a} neg"']))
                elif t=='str': checks.append(f'len({a}) < 3 if {a}')
                elif t.startswith('['): checks.append(f'len({a}) > 0 if {a}, "empty"')
        if checks: text+='    check:\n'+''.join(f'        {c}\n' for c in checks)
        all_attrs=(schemas[base]['attrs'] if base else [])+attrs
        schemas[n]={'attrs':all_attrs,'idx':idx or (schemas[base]['idx'] if base else None)}
        names.append(n); code+=text
    n=r.choice(names)
    data=val(r,n,schemas)
    while not isinstance(data,(dict,list)): data=val(r,n,schemas)
    if r.random()<0.15: data=[data,val(r,n,schemas)]
    return code,n,data


def has_scalar(data):
    return not isinstance(data, (dict, list)) or (isinstance(data, list) and any(map(has_scalar, data)))


def ours(kcl, path, schema):
    words = [kcl, "vet", path, "code.k", "-s", schema, "--json"]
    told = json.loads(subprocess.run(words, cwd=os.path.dirname(path), capture_output=True, text=True).stdout)
    errors = [e for f in told["files"] for d in f["documents"] for e in d["errors"]] + told.get("errors", [])
    if not errors:
        return None
    place = errors[0]["labels"][0]
    return errors[0]["code"], place["line"] if place["file"] == path else None


def main():
    kcl, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    asked = verdicts = codes = lines = outside = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = os.path.realpath(folder)
        for number in range(count):
            choice = random.Random(seed * 100000 + number)
            code, schema, data = gen(choice)
            # Scalars pass the wheel unchecked: docs/divergences.md, vet-scalars.
            if has_scalar(data):
                continue
            asked += 1
            form = choice.choice(["json", "yaml"]) if loadable(data) else "json"
            text = json.dumps(data, indent=1) if form == "json" else yaml(data).lstrip()
            path = os.path.join(folder, f"data.{form}")
            for name, content in ((os.path.join(folder, "code.k"), code), (path, text)):
                with open(name, "w") as file:
                    file.write(content)
            theirs, said = ask(path, code, schema)
            mine = ours(kcl, path, schema)
            before = verdicts + codes + lines + outside
            if mine is None or theirs is None:
                verdicts += mine != theirs
            else:
                codes += mine[0] != theirs[0]
                lines += theirs[1] is not None and mine[1] != theirs[1]
                outside += mine[1] is None
            if verdicts + codes + lines + outside > before:
                print(f"--- {number}: ours {mine}, the wheel {theirs}\n{code}\n{text}\n{said}")
    print(f"{asked} documents: {verdicts} verdicts differ; of the first error {codes} codes, {lines} lines; {outside} not in the data")
    sys.exit(1 if verdicts + codes + lines + outside or not asked else 0)


main()
