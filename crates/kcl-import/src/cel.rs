//! Rules of CEL (`x-kubernetes-validations`) as conditions of KCL.
//!
//! The tree of a rule is translated with its types: what KCL would not accept, and what means something else there, is not translated,
//! and the reason says why. A rule about the state before (`oldSelf`) is none of a check block: creating is not changing.

use cel::common::ast::{CallExpr, ComprehensionExpr, Expr, IdedExpr, LiteralValue, operators};
use kcl_model::{Attribute, Rule, Schema, SchemaRef, Type, Value, is_identifier, quote, quote_name};

use crate::predicate::{is_set, wrapped};

/// A longer rule is not read.
const MAX_RULE: usize = 4_000;
/// Calls in calls.
const MAX_DEPTH: u32 = 40;

/// What `self` is.
pub(crate) enum Own<'s> {
    /// The object in whose check block the rule stands.
    Attributes(&'s [Attribute]),
    /// What an expression gives, and its type.
    Value(&'s str, &'s Type),
}

/// A translated part.
struct Part {
    text: String,
    ty: Type,
    /// It may be absent. CEL takes the other side of an `||` then; here it must not be an error either.
    maybe: bool,
}

impl Part {
    fn new(text: String, ty: Type) -> Part {
        Part { text, ty, maybe: false }
    }

    /// The text, with something empty where it may be absent.
    fn or_empty(&self) -> String {
        let empty = match &self.ty {
            Type::List(_) => "[]",
            Type::Dict(..) => "{}",
            _ => "\"\"",
        };
        if self.maybe { format!("({} or {empty})", self.text) } else { self.text.clone() }
    }
}

type Made = Result<Part, String>;

/// Translates a rule; the error says what has no translation.
pub(crate) fn condition(
    rule: &str,
    own: &Own<'_>,
    known: &dyn Fn(&SchemaRef) -> Option<Schema>,
) -> Result<String, String> {
    if rule.len() > MAX_RULE {
        return Err("it is too long".to_owned());
    }
    let tree = cel::parser::Parser::new()
        .max_recursion_depth(60)
        .parse(rule)
        .map_err(|_| "it is no expression of CEL that is known here".to_owned())?;
    let mut translation = Translation { own, known, variables: Vec::new(), depth: 0 };
    Ok(translation.part(&tree)?.text)
}

struct Translation<'t> {
    own: &'t Own<'t>,
    known: &'t dyn Fn(&SchemaRef) -> Option<Schema>,
    /// Names of CEL with the name here and the type.
    variables: Vec<(String, String, Type)>,
    depth: u32,
}

impl Translation<'_> {
    fn part(&mut self, tree: &IdedExpr) -> Made {
        self.depth += 1;
        let made =
            if self.depth > MAX_DEPTH { Err("it nests too deep".into()) } else { self.made(&tree.expr) };
        self.depth -= 1;
        made
    }

    fn made(&mut self, tree: &Expr) -> Made {
        match tree {
            Expr::Literal(literal) => constant(literal),
            Expr::Ident(name) => self.name(name),
            Expr::Select(select) => {
                let place = self.member(&select.operand, &select.field)?;
                Ok(if select.test { condition_of(is_set(&place.text)) } else { place })
            }
            Expr::List(list) => {
                let mut items = Vec::new();
                let mut types = Vec::new();
                for element in &list.elements {
                    let part = self.part(element)?;
                    items.push(part.text);
                    types.push(part.ty);
                }
                let ty = Type::List(Type::union(types).into());
                Ok(Part::new(format!("[{}]", items.join(", ")), ty))
            }
            Expr::Call(call) => self.call(call),
            Expr::Comprehension(loop_) => self.comprehension(loop_),
            _ => Err("it makes a map or a message".to_owned()),
        }
    }

    fn name(&mut self, name: &str) -> Made {
        if let Some((_, text, ty)) = self.variables.iter().rev().find(|(known, ..)| known == name) {
            return Ok(Part::new(text.clone(), ty.clone()));
        }
        match (name, self.own) {
            ("self", Own::Value(text, ty)) => Ok(Part::new((*text).to_owned(), (*ty).clone())),
            ("self", Own::Attributes(_)) => Err("it speaks about the whole object at once".to_owned()),
            ("oldSelf", _) => Err("it compares with what was there before".to_owned()),
            _ => Err(format!("`{name}` is not known")),
        }
    }

    /// `self.a`, `x.a`.
    fn member(&mut self, operand: &IdedExpr, field: &str) -> Made {
        let field = unescaped(field);
        let is_self = matches!(&operand.expr, Expr::Ident(name) if name == "self")
            && !self.variables.iter().any(|(name, ..)| name == "self");
        if let (true, Own::Attributes(attributes)) = (is_self, self.own) {
            let found = attributes.iter().find(|attribute| attribute.name == field);
            let found = found.ok_or_else(|| format!("`self` has no `{field}`"))?;
            let text = quote_name(&field);
            if text.starts_with('"') {
                return Err(format!("`{field}` has no name in a check"));
            }
            return Ok(Part { text, ty: found.ty.clone(), maybe: found.optional });
        }
        let operand = self.part(operand)?;
        if !is_identifier(&field) {
            return Err(format!("`{field}` has no name in a check"));
        }
        let ty = match &operand.ty {
            Type::Schema(name) => {
                let schema = (self.known)(name).ok_or("it looks into something that contains itself")?;
                let found = schema.attributes.iter().find(|attribute| attribute.name == field);
                found.ok_or_else(|| format!("`{}` has no `{field}`", name.name))?.ty.clone()
            }
            Type::Dict(_, value) => (**value).clone(),
            Type::Any => Type::Any,
            _ => return Err(format!("`{field}` is taken of something that has no attributes")),
        };
        Ok(Part { text: format!("{}?.{field}", atom(&operand.text)), ty, maybe: true })
    }

    fn call(&mut self, call: &CallExpr) -> Made {
        if let Some(target) = &call.target {
            return self.method(target, &call.func_name, &call.args);
        }
        if let Some((_, word)) = BOOLEAN.iter().find(|(name, _)| *name == call.func_name) {
            let parts: Result<Vec<Part>, String> = call.args.iter().map(|arg| self.part(arg)).collect();
            let texts: Vec<String> = parts?.iter().map(|part| wrapped(&part.text)).collect();
            return Ok(condition_of(texts.join(word)));
        }
        match (call.func_name.as_str(), call.args.as_slice()) {
            (operators::LOGICAL_NOT, [one]) => {
                let one = self.part(one)?;
                Ok(condition_of(format!("not ({})", one.text)))
            }
            (operators::NEGATE, [one]) => {
                let one = self.part(one)?;
                numeric(&one)?;
                Ok(Part::new(format!("-{}", atom(&one.text)), one.ty))
            }
            (operators::CONDITIONAL, [test, yes, no]) => {
                let (test, yes, no) = (self.part(test)?, self.part(yes)?, self.part(no)?);
                let text = format!("({} if {} else {})", yes.text, wrapped(&test.text), no.text);
                Ok(Part::new(text, Type::union([yes.ty, no.ty])))
            }
            (operators::INDEX, [list, at]) => {
                let (list, at) = (self.part(list)?, self.part(at)?);
                let ty = match &list.ty {
                    Type::List(item) => (**item).clone(),
                    Type::Dict(_, value) => (**value).clone(),
                    _ => return Err("it takes an element of something that is no list".to_owned()),
                };
                Ok(Part::new(format!("{}[{}]", atom(&list.text), at.text), ty))
            }
            (operator, [left, right]) if operator.starts_with(['_', '@']) => {
                let (left, right) = (self.part(left)?, self.part(right)?);
                binary(operator, &left, &right)
            }
            ("size", [one]) => {
                let one = self.part(one)?;
                size(&one)
            }
            ("string", [one]) => Ok(Part::new(format!("str({})", self.part(one)?.text), Type::Str)),
            ("int", [one]) => Ok(Part::new(format!("int({})", self.part(one)?.text), Type::Int)),
            ("double", [one]) => Ok(Part::new(format!("float({})", self.part(one)?.text), Type::Float)),
            ("dyn", [one]) => self.part(one),
            (name, _) => Err(format!("`{name}()` has no counterpart")),
        }
    }

    fn method(&mut self, target: &IdedExpr, name: &str, args: &[IdedExpr]) -> Made {
        let target = self.part(target)?;
        let args: Result<Vec<Part>, String> = args.iter().map(|arg| self.part(arg)).collect();
        let args = args?;
        if let ("size", []) = (name, args.as_slice()) {
            return size(&target);
        }
        if name == "join" && matches!(target.ty, Type::List(_)) {
            let with = args.first().map_or_else(|| "\"\"".to_owned(), |arg| arg.text.clone());
            return Ok(Part::new(format!("{with}.join({})", target.text), Type::Str));
        }
        if !is_text(&target.ty) || args.iter().any(|arg| !is_text(&arg.ty)) {
            return Err(format!("`{name}()` is called on something that is no text"));
        }
        let on = atom(&target.or_empty());
        match (name, args.as_slice()) {
            ("matches", [pattern]) => {
                let told = read_quoted(pattern).ok_or("its pattern is computed")?;
                if fancy_regex::Regex::new(&told).is_err() {
                    return Err("its pattern is no regular expression of KCL".to_owned());
                }
                Ok(condition_of(Rule::Pattern(told).condition(&target.or_empty())))
            }
            ("startsWith", [text]) => Ok(condition_of(format!("{on}.startswith({})", text.text))),
            ("endsWith", [text]) => Ok(condition_of(format!("{on}.endswith({})", text.text))),
            ("contains", [text]) => Ok(condition_of(format!("{} in {on}", atom(&text.text)))),
            ("lowerAscii", []) => Ok(Part::new(format!("{on}.lower()"), Type::Str)),
            ("upperAscii", []) => Ok(Part::new(format!("{on}.upper()"), Type::Str)),
            ("trim", []) => Ok(Part::new(format!("{on}.strip()"), Type::Str)),
            ("split", [by]) => {
                Ok(Part::new(format!("{on}.split({})", by.text), Type::List(Type::Str.into())))
            }
            ("replace", [old, new]) => {
                Ok(Part::new(format!("{on}.replace({}, {})", old.text, new.text), Type::Str))
            }
            _ => Err(format!("`{name}()` has no counterpart")),
        }
    }

    /// What the macros `all`, `exists`, `exists_one`, `filter` and `map` were written as.
    fn comprehension(&mut self, loop_: &ComprehensionExpr) -> Made {
        if loop_.iter_var2.is_some() {
            return Err("it has two variables".to_owned());
        }
        let range = self.part(&loop_.iter_range)?;
        let item = match &range.ty {
            Type::List(item) => (**item).clone(),
            Type::Dict(key, _) => (**key).clone(),
            _ => return Err("it goes through something that is no list".to_owned()),
        };
        let variable = format!("v{}", self.variables.len());
        self.variables.push((loop_.iter_var.clone(), variable.clone(), item.clone()));
        let made = self.looped(loop_, &range, &variable, &item);
        self.variables.pop();
        made
    }

    fn looped(&mut self, loop_: &ComprehensionExpr, range: &Part, variable: &str, item: &Type) -> Made {
        let Expr::Call(step) = &loop_.loop_step.expr else { return Err("its loop is unknown".to_owned()) };
        let over = &range.text;
        let list = range.or_empty();
        // What is walked through by a quantifier begins with a name.
        let named = over.starts_with(|c: char| c.is_ascii_alphabetic() || "_$[".contains(c));
        match (step.func_name.as_str(), step.args.as_slice()) {
            (operators::LOGICAL_AND | operators::LOGICAL_OR, [_, test]) if !named => {
                let (test, every) = (self.part(test)?, step.func_name == operators::LOGICAL_AND);
                let test = if every { format!("not ({})", test.text) } else { test.text };
                let found = format!("len([{variable} for {variable} in {list} if {test}])");
                Ok(condition_of(format!("{found} {} 0", if every { "==" } else { ">" })))
            }
            (operators::LOGICAL_AND, [_, test]) => {
                let test = self.part(test)?;
                let all = format!("all {variable} in {over} {{ {} }}", test.text);
                let none = format!("{over} in [None, Undefined]");
                Ok(condition_of(if range.maybe { format!("({none} or {all})") } else { all }))
            }
            (operators::LOGICAL_OR, [_, test]) => {
                let test = self.part(test)?;
                let any = format!("any {variable} in {over} {{ {} }}", test.text);
                Ok(condition_of(if range.maybe { format!("({} and {any})", is_set(over)) } else { any }))
            }
            (operators::CONDITIONAL, [test, made, _]) => {
                let test = self.part(test)?;
                if matches!(loop_.accu_init.expr, Expr::Literal(_)) {
                    let found = format!("[{variable} for {variable} in {list} if {}]", test.text);
                    return Ok(condition_of(format!("len({found}) == 1")));
                }
                let made = self.element(made)?;
                let ty = Type::List(if made.text == variable { item.clone() } else { made.ty }.into());
                Ok(Part::new(format!("[{} for {variable} in {list} if {}]", made.text, test.text), ty))
            }
            (operators::ADD, [_, _]) => {
                let made = self.element(&loop_.loop_step)?;
                let text = format!("[{} for {variable} in {list}]", made.text);
                Ok(Part::new(text, Type::List(made.ty.into())))
            }
            _ => Err("its loop is unknown".to_owned()),
        }
    }

    /// The element of `result + [element]`.
    fn element(&mut self, step: &IdedExpr) -> Made {
        match &step.expr {
            Expr::Call(call) if call.func_name == operators::ADD => match call.args.as_slice() {
                [_, IdedExpr { expr: Expr::List(list), .. }] if list.elements.len() == 1 => {
                    self.part(&list.elements[0])
                }
                _ => Err("its loop is unknown".to_owned()),
            },
            _ => Err("its loop is unknown".to_owned()),
        }
    }
}

const BOOLEAN: &[(&str, &str)] = &[(operators::LOGICAL_AND, " and "), (operators::LOGICAL_OR, " or ")];

const OPERATORS: &[(&str, &str, bool)] = &[
    (operators::EQUALS, "==", false),
    (operators::NOT_EQUALS, "!=", false),
    (operators::LESS, "<", true),
    (operators::LESS_EQUALS, "<=", true),
    (operators::GREATER, ">", true),
    (operators::GREATER_EQUALS, ">=", true),
    (operators::IN, "in", false),
];

fn binary(operator: &str, left: &Part, right: &Part) -> Made {
    let (a, b) = (atom(&left.text), atom(&right.text));
    if let Some((_, word, numbers)) = OPERATORS.iter().find(|(name, ..)| *name == operator) {
        if *numbers {
            numeric(left)?;
            numeric(right)?;
        }
        if *word == "in" && !matches!(right.ty, Type::List(_) | Type::Dict(..)) {
            return Err("it looks into something that is no list".to_owned());
        }
        return Ok(condition_of(format!("{a} {word} {b}")));
    }
    let sign = match operator {
        operators::ADD => "+",
        operators::SUBSTRACT => "-",
        operators::MULTIPLY => "*",
        operators::MODULO => "%",
        // Whole numbers are divided with a rest there and without here.
        _ => return Err("it divides".to_owned()),
    };
    let same = match (&left.ty, &right.ty) {
        (Type::List(_), Type::List(_)) => sign == "+",
        (l, r) if is_text(l) && is_text(r) => sign == "+",
        _ => numeric(left).and_then(|()| numeric(right)).is_ok(),
    };
    if same {
        Ok(Part::new(format!("({a} {sign} {b})"), left.ty.clone()))
    } else {
        Err(format!("it uses `{sign}` on something that KCL does not"))
    }
}

fn size(part: &Part) -> Made {
    let counted = is_text(&part.ty) || matches!(part.ty, Type::List(_) | Type::Dict(..));
    if !counted {
        return Err("it counts something that is no list, map or text".to_owned());
    }
    Ok(Part::new(format!("len({})", part.or_empty()), Type::Int))
}

fn condition_of(text: String) -> Part {
    Part::new(text, Type::Bool)
}

fn is_text(ty: &Type) -> bool {
    ty.members().iter().all(|member| matches!(member, Type::Str | Type::Literal(Value::Str(_))))
}

fn numeric(part: &Part) -> Result<(), String> {
    let number = |member: &Type| {
        matches!(member, Type::Int | Type::Float | Type::Literal(Value::Int(_) | Value::Float(_)))
    };
    if part.ty.members().iter().all(number) {
        Ok(())
    } else {
        Err("it compares what are no numbers".to_owned())
    }
}

fn atom(text: &str) -> String {
    let open = text.contains(' ') && !text.starts_with(['(', '[', '"']);
    let joined = text.starts_with(['(', '[']) && text.contains(' ') && !closes_at_end(text);
    if open || joined { format!("({text})") } else { text.to_owned() }
}

/// Whether the first bracket is closed by the last character.
fn closes_at_end(text: &str) -> bool {
    let mut depth = 0;
    let last = text.len() - 1;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at == last;
        }
    }
    false
}

fn constant(literal: &LiteralValue) -> Made {
    let (value, ty) = match literal {
        LiteralValue::Boolean(b) => (Value::Bool(*b.inner()), Type::Bool),
        LiteralValue::Int(i) => (Value::Int(*i.inner()), Type::Int),
        LiteralValue::UInt(u) => {
            let number = i64::try_from(*u.inner()).map_err(|_| "a number in it is too large".to_owned())?;
            (Value::Int(number), Type::Int)
        }
        LiteralValue::Double(f) if f.inner().is_finite() => (Value::Float(*f.inner()), Type::Float),
        LiteralValue::String(text) => (Value::Str(text.inner().to_owned()), Type::Str),
        LiteralValue::Null => (Value::None, Type::None),
        _ => return Err("a constant in it has no counterpart".to_owned()),
    };
    let text = match &value {
        Value::Int(n) if *n < 0 => format!("({})", value.to_kcl()),
        _ => value.to_kcl(),
    };
    Ok(Part::new(text, ty))
}

/// The text of a string literal that was made here.
fn read_quoted(part: &Part) -> Option<String> {
    // What `quote` writes is read back; anything else is an expression.
    let inner = part.text.strip_prefix('"')?.strip_suffix('"')?;
    let mut out = String::new();
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next()? {
                'n' => out.push('\n'),
                't' => out.push('\t'),
                'r' => out.push('\r'),
                c @ ('\\' | '"') => out.push(c),
                'x' if chars.as_str().starts_with("24") => {
                    chars.next();
                    chars.next();
                    out.push('$');
                }
                _ => return None,
            },
            '"' => return None,
            c => out.push(c),
        }
    }
    (quote(&out) == part.text).then_some(out)
}

/// Kubernetes writes names that CEL would not read in another way.
fn unescaped(field: &str) -> String {
    const WORDS: &[(&str, &str)] =
        &[("__underscores__", "__"), ("__dot__", "."), ("__dash__", "-"), ("__slash__", "/")];
    let mut out = field.to_owned();
    for (escaped, plain) in WORDS {
        out = out.replace(escaped, plain);
    }
    match out.strip_prefix("__").and_then(|rest| rest.strip_suffix("__")) {
        Some(word) if !word.is_empty() && !word.contains("__") && out == field => word.to_owned(),
        _ => out,
    }
}
