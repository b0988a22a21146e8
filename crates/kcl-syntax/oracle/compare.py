"""Compares kcl-syntax with the released wheel (pip install kcl-lib==0.12.4): trees, accept or reject, first errors.

usage: compare.py BINARY [--mutate tokens|chars] [--seed N] [--count N] [--level 0-3] [--show N]

BINARY is `cargo build -p kcl-syntax --example dump_tree`. Without --mutate the corpus itself is compared.
Level 0: accept or reject, first line, tree of accepted programs; 1: also place and text of the first error;
2: all errors; 3: also the recovered tree. The wheel may panic or hang: it runs in a child process with a time limit.
"""
import argparse, json, multiprocessing, os, random, re, struct, subprocess, sys, time
from pathlib import Path

import kcl_lib.api as api

class Skip(Exception): pass
def q(s):
    o='"'
    for c in s:
        if c=='"': o+='\\"'
        elif c=='\\': o+='\\\\'
        elif ord(c)<32 or ord(c)>126: o+='\\u{%x}'%ord(c)
        else: o+=c
    return o+'"'
def nm(s): return s[1:] if s.startswith('$') else s
def dot(i): return '.'.join(nm(x['node']) for x in i['names'])
BOP={'Add':'Add','Sub':'Sub','Mul':'Mul','Div':'Div','FloorDiv':'FloorDiv','Mod':'Mod','Pow':'Pow','LShift':'Shl','RShift':'Shr','BitAnd':'BitAnd','BitOr':'BitOr','BitXor':'BitXor','And':'And','Or':'Or'}
COP={'Eq':'Eq','NotEq':'Ne','Lt':'Lt','LtE':'Le','Gt':'Gt','GtE':'Ge','In':'In','NotIn':'NotIn','Is':'Is','IsNot':'IsNot'}
UOP={'UAdd':'Plus','USub':'Minus','Invert':'BitNot','Not':'Not'}
def fbits(v):
    if v is None: v=float('inf')
    return '%x'%struct.unpack('>Q',struct.pack('>d',float(v)))[0]
def stmts(l): return '['+''.join(stmt(x['node']) for x in l)+']'
def exprs(l): return '['+''.join(expr(x['node']) for x in l)+']'
def opt(x): return '-' if x is None else expr(x['node'])
def opty(x): return '-' if x is None else ty(x['node'])
def target(t):
    s='(target '+nm(t['name']['node'])
    for p in t['paths']:
        if p['type']=='Member': s+='.'+nm(p['value']['node'])
        else: s+='['+expr(p['value']['node'])+']'
    return s+')'
def params(p):
    if p is None: return '(params)'
    p=p['node']; s='(params'
    for i,x in enumerate(p['args']):
        s+='('+dot(x['node'])+' '+opty(p['ty_list'][i])+opt(p['defaults'][i])+')'
    return s+')'
def checks(l): return '['+''.join('(check '+expr(c['node']['test']['node'])+opt(c['node']['if_cond'])+opt(c['node']['msg'])+')' for c in l)+']'
def call(n):
    s=exprs(n['args'])
    for k in n['kwargs' if 'kwargs' in n else 'keywords']:
        k=k['node']; s+='(kw '+dot(k['arg']['node'])+' '+expr(k['value']['node'])+')'
    return s
def decos(l):
    s='['
    for d in l:
        n=d['node']; f=expr(n['func']['node'])
        s+= f'(call {f}{call(n)})' if n['args'] or n['keywords'] else f
    return s+']'
def pyl(l): return '['+', '.join(q(x) for x in l)+']'
def gens(l):
    s=''
    for g in l:
        g=g['node']
        s+='(for '+pyl([dot(t['node']) for t in g['targets']])+' '+expr(g['iter']['node'])
        s+= expr(g['ifs'][0]['node']) if g['ifs'] else '-'
        s+=')'
    return s
def stmt(n):
    t=n['type']
    if t=='Expr': return '(expr '+''.join(expr(e['node']) for e in n['exprs'])+')'
    if t=='Assign': return '(assign '+''.join(target(x['node']) for x in n['targets'])+opty(n['ty'])+expr(n['value']['node'])+')'
    if t=='AugAssign': return f"(aug {BOP[n['op']]} "+target(n['target']['node'])+expr(n['value']['node'])+')'
    if t=='Unification': return '(unify '+dot(n['target']['node'])+' '+schemaexpr(n['value']['node'])+')'
    if t=='If': return '(if '+expr(n['cond']['node'])+stmts(n['body'])+stmts(n['orelse'])+')'
    if t=='Assert': return '(assert '+expr(n['test']['node'])+opt(n['if_cond'])+opt(n['msg'])+')'
    if t=='Import': return '(import '+n['rawpath'].replace('$','')+' '+nm(n['name'])+')'
    if t=='TypeAlias': return '(type '+dot(n['type_name']['node'])+' '+ty(n['ty']['node'])+')'
    if t=='Schema':
        k='Mixin' if n['is_mixin'] else 'Protocol' if n['is_protocol'] else 'Schema'
        s=f"(schema {nm(n['name']['node'])} {k} "+decos(n['decorators'])+params(n['args'])
        if n['parent_name']: s+='(base '+dot(n['parent_name']['node'])+')'
        if n['for_host_name']: s+='(for '+dot(n['for_host_name']['node'])+')'
        for m in n['mixins']: s+='(mixin '+dot(m['node'])+')'
        i=n['index_signature']
        if i:
            i=i['node']; 
            kn=i['key_name']
            if isinstance(kn,dict): kn=kn['node']
            s+=f"(index {kn or '-'} {str(i['any_other']).lower()} "+ty(i['key_ty']['node'])+ty(i['value_ty']['node'])+opt(i['value'])+')'
        return s+stmts(n['body'])+checks(n['checks'])+')'
    if t=='Rule':
        s=f"(rule {nm(n['name']['node'])} "+decos(n['decorators'])+params(n['args'])
        for m in n['parent_rules']: s+='(parent '+dot(m['node'])+')'
        if n['for_host_name']: s+='(for '+dot(n['for_host_name']['node'])+')'
        return s+checks(n['checks'])+')'
    if t=='SchemaAttr':
        op=n['op']; v=opt(n['value'])
        if op is None: o='None'
        else: o='Some(Assign)' if op in('Assign',{'Assign':None}) else 'Some(Union)' if op=='BitOr' else 'Some(OtherAug)'
        tt=n['ty']['node']
        if n['value'] is None and tt['type']=='Literal' and not n['is_optional']:
            o='Some(Assign)'; x=tt['value']
            if x['type']=='Str': v='(str '+q(x['value'])+')'
            elif x['type']=='Bool': v=('(True)' if x['value'] else '(False)')
            elif x['type']=='Float': v='(float '+fbits(x['value'])+')'
            else:
                x=x['value']; v=f"(unit {x['value']} {x['suffix']})" if x.get('suffix') else f"(int {x['value']})"
        return f"(attr {q(nm(n['name']['node']))} {str(n['is_optional']).lower()} {o} "+decos(n['decorators'])+ty(tt)+v+')'
    raise Skip(t)
def schemaexpr(n): return '(schemaexpr '+'(id '+dot(n['name']['node'])+')'+call(n)+expr(n['config']['node'])+')'
def entry(n, n2=None):
    n=n['node']; v=n['value']['node']
    if n['key'] is None:
        if v['type']=='ConfigIfEntry': return ifentry(v)
        return '(unpack '+expr(v)+')'
    k=n['key']['node']; op=n['operation']
    val=expr(v)
    if k['type']=='Identifier':
        names=[nm(x['node']) for x in k['names']]
        for x in reversed(names[1:]):
            val=f"(config (entry (id {x}) {op} {val}))"; op='Union'
        return f"(entry (id {names[0]}) {op} {val})"
    if k['type']=='Subscript' and k['value']['node']['type']=='Identifier' and k['index']:
        def plain(i): return i['value']['value'] if i['type']=='NumberLit' and i['value']['type']=='Int' else None
        i=k['index']['node']; iv=plain(i)
        if i['type']=='Unary' and i['op'] in('USub','UAdd'):
            iv=plain(i['operand']['node'])
            if iv is not None and i['op']=='USub': iv=-iv
        if iv is not None: return f"(entry (indexed {dot(k['value']['node']).split('.')[0]} {iv}) {op} {val})"
    return f"(entry {expr(k)} {op} {val})"
def ifentry(v):
    s='(ifentry '+expr(v['if_cond']['node'])+'(config '+''.join(entry(x) for x in v['items'])+')'
    o=v['orelse']
    if o is None: s+='-'
    elif o['node']['type']=='ConfigIfEntry': s+='(config '+ifentry(o['node'])+')'
    else: s+=expr(o['node'])
    return s+')'
def listif(n):
    o=n['orelse']
    if o is None: e='[]'
    elif o['node']['type']=='List': e=exprs(o['node']['elts'])
    else: e='['+listif(o['node'])+')]'
    return '(listif '+expr(n['if_cond']['node'])+exprs(n['exprs'])+e
def expr(n):
    t=n['type']
    if t=='Missing': return '(missing)'
    if t=='Identifier': return '(id '+dot(n)+')'
    if t=='NumberLit':
        v=n['value']
        if v['type']=='Float': return '(float '+fbits(v['value'])+')'
        if n['binary_suffix']: return f"(unit {v['value']} {n['binary_suffix']})"
        return f"(int {v['value']})"
    if t=='StringLit': return '(str '+q(n['value'])+')'
    if t=='NameConstantLit': return '('+n['value']+')'
    if t=='JoinedString':
        s='(join '; buf=''
        for p in n['values']:
            p=p['node']
            if p['type']=='StringLit': buf+=p['value']
            else:
                if buf: s+=q(buf); buf=''
                s+='(v '+expr(p['value']['node'])+(p['format_spec'] or '-')+')'
        if buf: s+=q(buf)
        return s+')'
    if t=='Unary': return f"(un {UOP[n['op']]} "+expr(n['operand']['node'])+')'
    if t=='Binary':
        if n['op']=='As':
            r=n['right']['node']
            if r['type']=='Identifier':
                d=dot(r); tt=NT.get(d,'<named '+d+'>') if 1 else {'int':'<Int>','str':'<Str>','bool':'<Bool>','float':'<Float>','any':'<any>'}.get(d,'<named '+d+'>')
            else: tt='<missing>'
            return '(as '+expr(n['left']['node'])+tt+')'
        return f"(bin {BOP[n['op']]} "+expr(n['left']['node'])+expr(n['right']['node'])+')'
    if t=='Compare':
        return '(cmp '+expr(n['left']['node'])+''.join(COP[o]+' '+expr(c['node']) for o,c in zip(n['ops'],n['comparators']))+')'
    if t=='If': return '(cond '+expr(n['cond']['node'])+expr(n['body']['node'])+expr(n['orelse']['node'])+')'
    if t=='Paren': return '(paren '+expr(n['expr']['node'])+')'
    if t=='Selector':
        v=expr(n['value']['node']); o=str(n['has_question']).lower()
        for x in n['attr']['node']['names']:
            v=f"(sel {nm(x['node'])} {o} {v})"; o='false'
        return v
    if t=='Subscript':
        o=str(n['has_question']).lower(); v=expr(n['value']['node'])
        if n['index'] is not None: return f"(index {o} {v}{expr(n['index']['node'])})"
        return f"(slice {o} {v}{opt(n['lower'])}{opt(n['upper'])}{opt(n['step'])})"
    if t=='Call': return '(call '+expr(n['func']['node'])+call(n)+')'
    if t=='List': return '(list '+exprs(n['elts'])+')'
    if t=='Starred': return '(star '+expr(n['value']['node'])+')'
    if t=='ListIfItem': return listif(n)+')'
    if t=='ListComp': return '(listcomp '+expr(n['elt']['node'])+gens(n['generators'])+')'
    if t=='Config': return '(config '+''.join(entry(x) for x in n['items'])+')'
    if t=='DictComp': return '(dictcomp '+entry({'node':n['entry']})+gens(n['generators'])+')'
    if t=='Quant': return f"(quant {n['op']} "+pyl([dot(x['node']) for x in n['variables']])+' '+expr(n['target']['node'])+expr(n['test']['node'])+opt(n['if_cond'])+')'
    if t=='Schema': return schemaexpr(n)
    if t=='Lambda': return '(lambda '+params(n['args'])+opty(n['return_ty'])+stmts(n['body'])+')'
    if t=='ConfigIfEntry': return ifentry(n)
    raise Skip(t)
NT={'int':'<Int>','str':'<Str>','bool':'<Bool>','float':'<Float>','any':'<any>'}
def ty(n):
    t=n['type']; v=n.get('value')
    if t=='Any': return '<any>'
    if t=='Basic': return f"<{v}>"
    if t=='Named': return NT.get(dot(v),'<named '+dot(v)+'>')
    if t=='List': return '<list '+opty(v.get('inner_type'))+'>'
    if t=='Dict': return '<dict '+opty(v.get('key_type'))+opty(v.get('value_type'))+'>'
    if t=='Union': return '<union '+''.join(ty(x['node']) for x in v['type_elements'])+'>'
    if t=='Function': return '<fn '+''.join(ty(x['node']) for x in (v['params_ty'] or []))+'->'+opty(v.get('ret_ty'))+'>'
    if t=='Literal':
        if v['type']=='Float': return '<Float '+fbits(v['value'])+'>'
        if v['type']=='Int': return f"<lit {v['value']['value']}{v['value'].get('suffix') or ''}>"
        if v['type']=='Bool': return f"<lit {str(v['value']).lower()}>"
        return '<lit '+q(v['value'])+'>'
    raise Skip(t)
def clamp(src,l,c,m):
    ls=src.split('\n')
    return (l,min(c,len(ls[l-1])) if l<=len(ls) else c,m.replace('\n','\\n'))
def oracle_raw(src):
    try:
        r=api.API().parse_file(api.ParseFileArgs(path="m.k",source=src))
    except BaseException as e:
        return None, 'EXC '+str(e)
    errs=[]
    for e in r.errors:
        for m in e.messages:
            if m.pos.line==0 or m.msg.startswith("pkgpath "): continue
            x=clamp(src,m.pos.line,m.pos.column,m.msg)
            if x not in errs: errs.append(x)
    if not r.ast_json: return None,'PANIC'
    try: tree=stmts(json.loads(r.ast_json)['body'])
    except Skip as e: tree='SKIP '+str(e)
    return errs,tree
BIN=None
PROC=None
def ours1(src):
    global PROC
    if PROC is None: PROC=subprocess.Popen([BIN],stdin=subprocess.PIPE,stdout=subprocess.PIPE,stderr=subprocess.DEVNULL)
    try:
        PROC.stdin.write(src.encode('utf-8','replace')+b'\0'); PROC.stdin.flush()
        buf=b''
        while not buf.endswith(b'\0'):
            c=os.read(PROC.stdout.fileno(),65536)
            if not c: PROC=None; return None
            buf+=c
    except BrokenPipeError:
        PROC=None; return None
    errs=[];tree=''
    for l in buf[:-1].decode().split('\n'):
        if l.startswith('E '):
            _,x,y,m=l.split(' ',3); e=clamp(src,int(x),int(y),m)
            if e not in errs and "keyword 'as'" not in m: errs.append(e)
        elif l.startswith('A '): tree=l[2:]
    return (errs,tree)
def ours(srcs): return [ours1(s) for s in srcs]
WK=None
def _work(conn):
    while True:
        s=conn.recv(); conn.send(oracle_raw(s))
def oracle(src):
    global WK
    if WK is None:
        c1,c2=multiprocessing.Pipe(); p=multiprocessing.Process(target=_work,args=(c2,),daemon=True); p.start(); c2.close(); WK=(p,c1)
    p,c=WK
    c.send(src)
    if c.poll(1.5):
        try: return c.recv()
        except EOFError: pass
    p.kill(); WK=None
    return None,'HANG'
def compare(o,m,mode):
    oe,ot=o; me,mt=m
    if oe is None: return None
    if bool(oe)!=bool(me): return 'ACCEPT'
    if oe:
        if oe[0][0]!=me[0][0]: return 'LINE'
        if mode>=1 and oe[0]!=me[0]: return 'FIRST'
        if mode>=2 and oe!=me: return 'LIST'
        if mode>=3 and ot!=mt and not ot.startswith('SKIP'): return 'TREE'
        return None
    if ot.startswith('SKIP'): return None
    if ot!=mt: return 'TREE'
    return None
def show(src,o,m,why):
    print('#####',why,repr(src))
    if o[0] or m[0]:
        print('  oracle:',o[0][:6]); print('  ours:  ',m[0][:6])
    if why=='TREE': print('  oracle:',o[1]); print('  ours:  ',m[1])
TOK=re.compile(r'\n[ \t]*|[ \t]+|#[^\n]*|[A-Za-z_$]\w*|\d\w*(?:\.\d+)?|"""(?:.|\n)*?"""|"[^"\n]*"|\'[^\'\n]*\'|\*\*=|//=|<<=|>>=|\*\*|//|<<|>>|->|[=!<>+\-*/%&|^]=|\.\.\.|.',re.S)
INS=['a','b.c','1','"s"','(',')','[',']','{','}',',',':','=','+=','.','?','if','else','for','in','not','and','or','is','as','lambda','all','map','check','mixin','schema S:','import a','assert','type','None','True','+','-','*','**','|','==','<','->','\n','\n    ','\n  ','\n        ','@','...','x = 1','elif','"""d"""','int','"${a}"','~','!',';','rule','protocol','filter','x for x in y','if a: b','**x','*x','$x','1.5','0x1','%','\\\n','/','&','@info\n','|=',' if x']
def mutate_tokens(rnd, s):
    toks=TOK.findall(s)
    if not toks: return s
    for _ in range(rnd.choice([1,1,1,2,3])):
        k=rnd.random(); i=rnd.randrange(len(toks))
        if k<0.35: del toks[i]
        elif k<0.5: toks.insert(i,toks[i])
        elif k<0.8: toks.insert(i,rnd.choice(INS)) if rnd.random()<0.5 else toks.insert(i,' '+rnd.choice(INS)+' ')
        elif k<0.9:
            j=rnd.randrange(len(toks)); toks[i],toks[j]=toks[j],toks[i]
        else: toks[i]=rnd.choice(INS)
        if not toks: break
    return ''.join(toks)
CH=list('abr01_.xoeEKi"\'\\$${}()[]#:,= \n\t;!\u00e9\u00a0\u2028\r@-+*')+['\\n','\\x4','"""',"\'\'\'",'${','}','\\','\\"','\\u00e9','\\N{','0x','1_0','1.5','1e3','Ki','\n  ','\n\n    ','\\\n','# c\n','#json']
STR=['a = "x${b}y"\n','a = """\n  x ${y} z\n    w\n  """\n','b = "a${b:#json}c${d + 1}"\n',"c = r'a\\b'\n",'a = "\\n\\x41${x}"\nb = 1\n','x = 0x1f + 1.5e3 - 1Ki\n','x = [0b11 017 1_000 1e-5]\n','s = "a\\${b}c"\nt = 3\n','if a:\n    b = "x"\n\n    # c\n    c = 1\nd = 2\n','a = {\n\tb = 1\n\tif c:\n\t\td = 2\n}\n']
def mutate_chars(rnd, s):
    l=list(s)
    for _ in range(rnd.choice([1,1,2,2,3])):
        if not l: break
        i=rnd.randrange(len(l)); k=rnd.random()
        if k<0.3: del l[i]
        elif k<0.8: l.insert(i,rnd.choice(CH))
        else: l[i]=rnd.choice(CH)
    return ''.join(l)

def pick(rnd, base, mutate):
    s=rnd.choice(base); lines=s.split('\n')
    if len(lines)>8 and rnd.random()<0.5:
        i=rnd.randrange(len(lines)); s='\n'.join(lines[i:i+rnd.randrange(2,8)])+'\n'
    return mutate(rnd, s)
def check(s, level):
    m=ours1(s)
    if m is None: return 'CRASH',None,None
    o=oracle(s)
    return compare(o,m,level),o,m
def shrink(s, why, level):
    changed=True; start=time.time()
    while changed and time.time()-start<2:
        changed=False
        for split,join in ((lambda t:t.split('\n'),'\n'),(TOK.findall,'')):
            parts=split(s); i=0
            while i<len(parts):
                for w in (4,2,1):
                    c=parts[:i]+parts[i+w:]; t=join.join(c)
                    if t!=s and t.strip() and check(t,level)[0]==why:
                        s=t; parts=c; changed=True; break
                else: i+=1
    return s
def main():
    global BIN
    p=argparse.ArgumentParser(); p.add_argument('binary'); p.add_argument('--mutate',choices=['tokens','chars'])
    p.add_argument('--seed',type=int,default=1); p.add_argument('--count',type=int,default=1000)
    p.add_argument('--level',type=int,default=1); p.add_argument('--show',type=int,default=10)
    args=p.parse_args(); BIN=args.binary; rnd=random.Random(args.seed)
    base=(Path(__file__).parent.parent/'tests/corpus/programs.txt').read_text().split('====\n')
    programs=base
    if args.mutate=='tokens': programs=[pick(rnd,base,mutate_tokens) for _ in range(args.count)]
    if args.mutate=='chars': programs=[pick(rnd,base+STR*12,mutate_chars) for _ in range(args.count)]
    bad={}
    for s in programs:
        if '\0' in s: continue
        why=check(s,args.level)[0]
        if why: bad.setdefault(why,[]).append(s)
    shown=0; seen=set()
    for why in ('CRASH','ACCEPT','LINE','TREE','FIRST','LIST'):
        for s in bad.get(why,[]):
            if shown>=args.show: break
            s=s if why=='CRASH' else shrink(s,why,args.level)
            if s in seen: continue
            seen.add(s); shown+=1
            _,o,m=check(s,args.level); show(s,o or ([],''),m or ([],''),why)
    counts={k:len(v) for k,v in bad.items()}
    print(len(programs),'programs,',sum(counts.values()),'differ',counts)
    return 1 if bad else 0
if __name__=='__main__': sys.exit(main())
