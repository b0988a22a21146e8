//! Everything that the checker can find: one table of kinds with facts, the reference's sentence and the words for people.
//!
//! Types are facts in two texts ([`Shown`]): as the reference writes them, and as a person does. What is said beside the carets and
//! at related places is added where the mistake is found (`words.rs`, `sentences.rs`).

use kcl_syntax::ast::Str;

use crate::globals::BUILT_IN_TYPES;
use crate::suggest::hint;

/// A type, as the reference writes it and as a person does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Shown {
    pub(crate) text: String,
    pub(crate) words: String,
}

base_diag::mistakes! {
    /// What is wrong with a program that can be read.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub(crate) enum Mistake;

    /// A value of another type than the one that is expected.
    Mismatch { want: Shown, have: Shown, convert: Option<String> } = TYPE "type-mismatch" {
        sentence: format!("expected {}, got {}", want.text, have.text),
        title: format!("expected `{}`, found `{}`", want.words, have.words),
        help: convert.clone(),
    }
    /// Values that do not fit an index signature.
    IndexMismatch { want: String, have: String } = TYPE "index-signature-value" {
        sentence: format!("expected schema index signature value type {want}, got {have}"),
    }
    /// A name that nobody defined.
    UnknownName { name: Str, similar: Vec<Str>, help: Option<String> } = COMPILE "unknown-name" {
        sentence: format!("name '{name}' is not defined{}", hint(similar)),
        title: format!("`{name}` is not defined"),
        help: help.clone(),
    }
    /// A key that a schema does not have.
    UnknownAttribute { schema: Str, name: Str, similar: Vec<Str>, known: Option<String> } =
        COMPILE "unknown-attribute" {
        sentence: format!("Cannot add member '{name}' to schema '{schema}'{}", hint(similar)),
        title: format!("schema `{schema}` has no attribute `{name}`"),
        help: known.clone(),
    }
    /// A key that no schema of a union has.
    UnknownToAll { schemas: Vec<Str>, name: Str, similar: Vec<Str> } = COMPILE "unknown-attribute" {
        sentence: match schemas.as_slice() {
            [one] => format!("Cannot add member '{name}' to 'schema {one}'{}", hint(similar)),
            _ => format!("Cannot add member '{name}' to 'schemas {schemas:?}'{}", hint(similar)),
        },
    }
    /// An attribute that an instance does not have.
    UnknownMember { of: Shown, name: Str, similar: Vec<Str> } = TYPE "unknown-member" {
        sentence: format!("attribute '{name}' not found in '{}'{}", of.text, hint(similar)),
        title: format!("`{}` has no `{name}`", of.words),
    }
    /// A member that a module does not have. The reference does not guess.
    NotInModule { module: String, name: Str, known: Option<String> } = TYPE "unknown-member" {
        sentence: format!("attribute '{name}' not found in '{module}'"),
        title: format!("{} has no member `{name}`", module.replace('\'', "`")),
        help: known.clone(),
    }
    /// `package._name` in edition 0.13.
    PrivateMember { module: Str, name: Str } = COMPILE "private-member" {
        sentence: format!("cannot reference private member '{name}' from module '{module}'"),
    }
    /// An import of another package, read through it.
    ReExported { module: Str, name: Str } = COMPILE "re-exported-import" {
        sentence: format!("can not import the attribute '{name}' from the module '{module}'"),
    }
    /// `module?.name`
    OptionalModuleMember { name: Str } = COMPILE "optional-module-member" {
        sentence: format!(
            "For the module type, the use of '?.{name}' is unnecessary and it can be modified as '.{name}'"
        ),
    }

    /// An operator that does not take what stands left and right of it; `kinds` are their types without literals.
    Operands { op: &'static str, left: String, right: String, kinds: (String, String), hint: Option<&'static str> } =
        TYPE "operand-types" {
        sentence: format!("unsupported operand type(s) for {op}: '{left}' and '{right}'"),
        title: match *op {
            "in" | "not in" => format!("`{op}` does not look into `{}`", kinds.1),
            _ => format!("`{op}` does not take `{}` and `{}`", kinds.0, kinds.1),
        },
        help: *hint,
    }
    /// A sign before what it does not take.
    Operand { op: &'static str, ty: Shown } = TYPE "operand-type" {
        sentence: format!("bad operand type for unary {op}: '{}'", ty.text),
        title: format!("`{op}` does not take `{}`", ty.words),
    }
    /// A division by a literal zero.
    DivisionByZero = TYPE "division-by-zero" {
        sentence: "integer division or modulo by zero",
        title: "division by zero",
    }
    /// Fewer arguments than parameters without a default.
    MissingArgument { callee: String, required: usize, given: usize, takes: Option<String> } =
        COMPILE "missing-argument" {
        sentence: format!("expected {}, found {given}", positional(*required)),
        title: format!("{} needs {}, found {given}", callee_words(callee), arguments(*required)),
        help: takes.clone(),
    }
    /// More arguments than parameters.
    TooManyArguments { callee: String, count: usize, given: usize, takes: Option<String> } =
        COMPILE "too-many-arguments" {
        sentence: format!("{callee} takes {} but {given} were given", positional(*count)),
        title: format!(
            "{} takes {}, found {given}",
            callee_words(callee),
            if *count == 0 { "no arguments".to_owned() } else { arguments(*count) }
        ),
        help: takes.clone(),
    }
    /// A keyword that is no parameter.
    UnexpectedKeyword { callee: String, name: Str, similar: Vec<Str>, takes: Option<String> } =
        COMPILE "unexpected-keyword" {
        sentence: match similar.is_empty() {
            true => format!("{callee} got an unexpected keyword argument '{name}'"),
            false => format!(
                "{callee} got an unexpected keyword argument '{name}', did you mean '{}'?",
                similar.join("' or '")
            ),
        },
        title: format!("{} has no parameter `{name}`", callee_words(callee)),
        help: takes.clone(),
    }
    /// A keyword that was given before.
    DuplicateArgument { callee: String, name: Str } = COMPILE "duplicate-argument" {
        sentence: format!("{callee} has duplicated keyword argument {name}"),
    }
    /// A call of an instance.
    InstanceCalled { schema: Str } = COMPILE "not-callable" {
        sentence: format!("schema '{schema}' instance is not callable"),
        title: format!("this is an instance of `{schema}`, no function"),
        help: "to change some of its attributes: `name {attribute = value}`",
    }
    /// A call of what is no function.
    NotCallable { ty: Shown } = COMPILE "not-callable" {
        sentence: format!("'{}' object is not callable", ty.text),
        title: format!("`{}` is no function", ty.words),
    }
    /// A walk through what has no items.
    NotIterable { ty: Shown, counts: bool } = COMPILE "not-iterable" {
        sentence: format!("'{}' object is not iterable", ty.text),
        title: format!("`{}` has no items to walk through", ty.words),
        help: counts.then_some("to count: `for i in range(n)`"),
    }
    /// `value[index]` of what has no items.
    NotSubscriptable { ty: Shown } = COMPILE "not-subscriptable" {
        sentence: format!("'{}' object is not subscriptable", ty.text),
        title: format!("`{}` has no items", ty.words),
    }
    /// `dict[1:2]`
    UnhashableSlice = COMPILE "unhashable-slice" { sentence: "unhashable type: 'slice'" }
    /// `dict[1]`
    BadKey { ty: Shown } = COMPILE "key-type" {
        sentence: format!("invalid dict/schema key type: '{}'", ty.text),
        title: format!("a dict has text as keys, found `{}`", ty.words),
    }
    /// A computed key that is no text.
    KeyType { ty: Shown, quoted: Option<i64> } = ATTRIBUTE "key-type" {
        sentence: format!("A attribute must be string type, got '{}'", ty.text),
        title: format!("a key is text, found `{}`", ty.words),
        help: quoted.map(|number| format!("in quotes: \"{number}\"")),
    }
    /// `+=` with what is no list.
    InsertType { ty: Shown } = ATTRIBUTE "insert-type" {
        sentence: format!("only list type can in inserted, got '{}'", ty.text),
        title: format!("`+=` appends a list, found `{}`", ty.words),
        help: "put it into brackets: [..]",
    }
    /// `*x` of what has no items.
    CannotUnpack = COMPILE "unpack" {
        sentence: "only list, dict, schema object can be used * unpacked, got any",
        title: "`*` unpacks a list or the keys of a dict",
    }
    /// `**x` of what has no keys.
    CannotUnpackKeys { ty: Shown } = COMPILE "unpack" {
        sentence: format!("only dict and schema can be used ** unpack, got '{}'", ty.text),
        title: format!("`**` unpacks a dict or an instance, found `{}`", ty.words),
    }
    /// `[*x for ..]`
    ListUnpackedInComprehension = COMPILE "unpack-in-comprehension" {
        sentence: "list unpacking cannot be used in list comprehension",
    }
    /// `{**x for ..}`
    DictUnpackedInComprehension = COMPILE "unpack-in-comprehension" {
        sentence: "dict unpacking cannot be used in dict comprehension",
    }
    /// `for a, b, c in ..`
    LoopVariables { count: usize } = COMPILE "loop-variables" {
        sentence: format!("the number of loop variables is {count}, which can only be 1 or 2"),
    }
    /// `${x: #toml}`
    FormatSpec { spec: Str } = COMPILE "format-spec" { sentence: format!("{spec} is a invalid format spec") }
    /// `x as 1`
    CastToValue = COMPILE "cast-to-value" { sentence: "keyword 'as' right operand must be a type" }
    /// `x as T` where x is no T.
    Cast { from: Shown, to: Shown } = TYPE "cast" {
        sentence: format!(
            "Conversion of type '{}' to type '{}' may be a mistake because neither type sufficiently overlaps with the other",
            from.text, to.text
        ),
        title: format!("`as` cannot make `{}` of `{}`", to.words, from.words),
        help: matches!(to.words.as_str(), "str" | "int" | "float" | "bool")
            .then(|| format!("`as` only says which type it is; to convert: {}(..)", to.words)),
    }
    /// A lambda without a result.
    LambdaLastStatement = COMPILE "lambda-last-statement" {
        sentence: "The last statement of the lambda body must be a expression e.g., x, 1, etc.",
        title: "a lambda ends with a value",
        help: "end it with the result; a choice is `a if condition else b`",
    }
    /// `instance(x) {..}`
    ModificationArguments = COMPILE "modification-arguments" {
        sentence: "Arguments cannot be used in the schema modification expression",
    }
    /// `x {..}` of what is no schema.
    NotASchema { ty: String } = COMPILE "not-a-schema" { sentence: format!("Invalid schema type '{ty}'") }
    /// `S {k: v for ..}`
    SchemaConfig = COMPILE "schema-config" {
        sentence: "Invalid schema config expr, expect config entries, e.g., {k1 = v1, k2 = v2}",
    }
    /// Edition 0.13: an attribute that nothing provides.
    RequiredAttribute { schema: Str, name: Str } = COMPILE "required-attribute" {
        sentence: format!("attribute '{name}' of {schema} is required and can't be None or Undefined"),
        title: format!("`{name}` of schema `{schema}` has no value"),
        help: format!("set it: `{name} = ..`, or declare it optional: `{name}?: ..`"),
    }

    /// A second value of a name, found where the name is assigned.
    Immutable { name: Str } = IMMUTABLE "immutable" {
        sentence: format!("Can not change the value of '{name}', because it was declared immutable"),
        title: cannot_change(name),
        help: private_name(name),
    }
    /// A second value of a name, found where it is changed.
    Modified { name: Str } = IMMUTABLE "immutable" {
        sentence: format!("Immutable variable '{name}' is modified during compiling"),
        title: cannot_change(name),
        help: private_name(name),
    }
    /// A second annotation that says something else.
    ConflictingAnnotation { name: Str, ty: String } = TYPE "conflicting-annotation" {
        sentence: format!("can not change the type of '{name}' to {ty}"),
    }
    /// Two definitions of a name.
    DefinedTwice { name: Str, help: Option<&'static str> } = UNIQUE_KEY "duplicate-schema" {
        sentence: format!("Unique key error name '{name}'"),
        title: format!("`{name}` is defined twice"),
        help: *help,
    }
    /// A schema inside a block.
    NestedSchema { name: Str } = UNIQUE_KEY "duplicate-schema" {
        sentence: format!("Unique key error name '{name}'"),
        title: "a schema is defined at the top of a file, not inside a block or a lambda",
    }
    /// `a.b: S {..}`
    SelectedUnification = COMPILE "selected-attribute" { sentence: "unification identifier can not be selected" }
    /// `a.b: int` in a schema.
    SelectedAttribute = COMPILE "selected-attribute" { sentence: "schema attribute can not be selected" }
    /// `@a.b`
    DecoratorName = TYPE "decorator-name" { sentence: "decorator name must be a single identifier" }
    /// A decorator that does not exist.
    UnknownDecorator { name: Str } = COMPILE "unknown-decorator" {
        sentence: format!("UnKnown decorator {name}"),
        title: format!("there is no decorator `{name}`"),
        help: "there are `@deprecated` and `@info`",
    }
    /// A type alias with the name of a built-in type.
    ReservedAlias { name: Str } = TYPE "reserved-alias-name" {
        sentence: format!("type alias '{name}' cannot be the same as the built-in types ({BUILT_IN_TYPES:?})"),
    }
    /// A schema with the name of a built-in type.
    ReservedSchema { name: Str } = COMPILE "reserved-schema-name" {
        sentence: format!("schema name '{name}' cannot be the same as the built-in types ({BUILT_IN_TYPES:?})"),
    }
    /// A rule, mixin or protocol with the name of a built-in type.
    ReservedName { what: &'static str, name: Str } = COMPILE "reserved-name" {
        sentence: format!("{what} name '{name}' cannot be the same as the built-in types ({BUILT_IN_TYPES:?})"),
    }

    /// A parameter with the name of an attribute.
    ParameterIsAttribute { name: Str } = COMPILE "parameter-is-attribute" {
        sentence: format!("Unexpected parameter name '{name}' with the same name as the schema attribute"),
    }
    /// A parameter without a default behind one that has one.
    ParameterOrder = PARAMETER "parameter-order" { sentence: "non-default argument follows default argument" }
    /// A rule of what is no rule.
    IllegalRule { ty: String } = INHERIT "illegal-rule" { sentence: format!("illegal rule type '{ty}'") }
    /// A protocol of what is no mixin.
    IllegalHost = INHERIT "illegal-host" { sentence: "only schema mixin can inherit from protocol" }
    /// A base, mixin or host that is something else.
    IllegalBase { expected: &'static str, got: String, name: String } = INHERIT "illegal-base" {
        sentence: format!("invalid schema inherit object type, expect {expected}, got '{got}'"),
        title: format!("`{name}` is no {expected}"),
        help: match *expected {
            "protocol" => "a protocol is declared like this: `protocol NameProtocol:`",
            _ if name.ends_with("Mixin") => "a mixin goes into the first line of the body: `mixin [NameMixin]`",
            _ => "a base is a schema, not a value, mixin or protocol",
        },
    }
    /// A protocol whose name does not say so.
    ProtocolName { name: Str } = COMPILE "protocol-name" {
        sentence: "schema protocol name must end with 'Protocol'",
        title: format!("the name of a protocol ends in `Protocol`: `{name}Protocol`"),
    }
    /// A protocol with more than attributes.
    ProtocolBody = COMPILE "protocol-body" {
        sentence: "a protocol is only allowed to define attributes in it",
        title: "a protocol has attributes only",
    }
    /// A mixin whose name does not say so.
    MixinName { name: Str } = NAME "mixin-name" {
        sentence: format!("a valid mixin name should end with 'Mixin', got '{name}'"),
        title: format!("`{name}` is no mixin: its name does not end in `Mixin`"),
    }
    /// A mixin that is something else.
    IllegalMixin { name: Str, ty: String } = INHERIT "illegal-mixin" {
        sentence: format!("illegal schema mixin object type, expected mixin, got '{ty}'"),
        title: format!("`{name}` is no mixin"),
        help: "a mixin is declared like this: `mixin NameMixin:`",
    }
    /// Schemas that inherit from one another.
    CircularInheritance { schemas: Vec<Str> } = COMPILE "circular-inheritance" {
        sentence: format!("There is a circular reference between schemas {}", schemas.join(", ")),
        title: format!("schemas inherit from one another: `{}`", schemas.join("`, `")),
    }
    /// An attribute that is declared again with another type; against a base the reference prints the new type twice.
    FieldTypeChange { name: Str, from: String, old: String, new: Shown, own: bool } = TYPE "field-type-change" {
        sentence: format!("can't change schema field type of '{name}' from {from} to {}", new.text),
        title: format!(
            "`{name}` is `{old}` {}, which `{}` does not fit",
            if *own { "further up" } else { "in the base schema" },
            new.words
        ),
        help: (!own).then_some("a sub-schema may only narrow a type"),
    }
    /// An attribute that a sub-schema makes optional.
    RequiredToOptional { name: Str } = TYPE "required-to-optional" {
        sentence: format!("can't change the required schema attribute of '{name}' to optional"),
        title: format!("`{name}` is required in the base schema and stays so"),
        help: "leave out the `?`, or give it a default",
    }
    /// An index signature whose keys are no text.
    IndexKey { ty: String } = INDEX_SIGNATURE "index-signature-key" {
        sentence: format!("invalid index signature key type: '{ty}'"),
    }
    /// The name of an index that is an attribute, too.
    IndexName { name: Str } = INDEX_SIGNATURE "index-signature-name" {
        sentence: format!("index signature attribute name '{name}' cannot have the same name as schema attributes"),
    }
    /// An attribute that does not fit the index signature.
    IndexValue { name: Str, ty: String, key: String, value: String } = INDEX_SIGNATURE "index-signature-value" {
        sentence: format!(
            "the type '{ty}' of schema attribute '{name}' does not meet the index signature definition [{key}]: {value}"
        ),
    }

    /// So many that the others are not kept.
    TooMany = COMPILE "too-many-errors" { sentence: "too many errors: the others are not told" }
}

fn cannot_change(name: &str) -> String {
    format!("`{name}` cannot be changed: it has a value already")
}

fn private_name(name: &str) -> String {
    format!("a name that begins with `_` can be changed: `_{name}`")
}

/// `"f"` as `f`.
fn callee_words(callee: &str) -> String {
    match callee.strip_prefix('"').and_then(|c| c.strip_suffix('"')) {
        Some(name) => format!("`{name}`"),
        None => format!("this {callee}"),
    }
}

fn arguments(count: usize) -> String {
    if count == 1 { "1 argument".to_owned() } else { format!("{count} arguments") }
}

fn positional(count: usize) -> String {
    // Upstream says "0 positional argument".
    if count > 1 { format!("{count} positional arguments") } else { format!("{count} positional argument") }
}
