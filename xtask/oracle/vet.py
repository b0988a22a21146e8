"""Verdicts of `kcl vet` beside the wheel's ValidateCode: vet.py KCL COUNT SEED.

Makes schemas and data that mostly fit, asks both, and compares whether the data holds and the code of the first error. Exits with 1
if a verdict differs; an order of errors that differs is counted.
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


def ask(data, code, schema):
    args = api.ValidateCodeArgs(data=data, code=code, format="json", schema=schema, attribute_name="value")
    try:
        answer = WHEEL.validate_code(args)
    except Exception as problem:
        return False, str(problem)
    return answer.success, re.sub(r"\x1b\[[0-9;]*m", "", answer.err_message)


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


def ours(kcl, folder, code, schema, text):
    for name, content in (("code.k", code), ("data.json", text)):
        with open(os.path.join(folder, name), "w") as file:
            file.write(content)
    words = [kcl, "vet", "data.json", "code.k", "-s", schema, "--json"]
    told = json.loads(subprocess.run(words, cwd=folder, capture_output=True, text=True).stdout)
    errors = [e for f in told["files"] for d in f["documents"] for e in d["errors"]] + told.get("errors", [])
    return errors[0]["code"] if errors else None


def main():
    kcl, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    asked = flips = orders = 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            code, schema, data = gen(random.Random(seed * 100000 + number))
            # Scalars pass the wheel unchecked: docs/divergences.md, vet-scalars.
            if has_scalar(data):
                continue
            asked += 1
            text = json.dumps(data, indent=1)
            holds, said = ask(text, code, schema)
            found = re.search(r"error\[(E\w+)\]", said)
            theirs = None if holds else found[1] if found else "E3M38"
            mine = ours(kcl, folder, code, schema, text)
            flips += (mine is None) != (theirs is None)
            orders += mine is not None and theirs is not None and mine != theirs
            if (mine is None) != (theirs is None):
                print(f"--- {number}: ours {mine}, the wheel {theirs}\n{code}\n{text}\n{said}")
    print(f"{asked} documents: {flips} verdicts differ, {orders} have another first error")
    sys.exit(1 if flips or not asked else 0)


main()
