//! Which schema documents are checked against: found once, before any document is looked at.

use base_diag::{Code, Diagnostic, Label, Place, Span, Telling, nearest};
use ecow::EcoString as Str;
use kcl_syntax::ast::{Expr, Ident, Stmt, Target};
use kcl_syntax::program::{ImportTarget, Package, Program};

use crate::kinds::{Kinds, schemas};
use crate::statement::{SchemaName, alias};
use crate::vet::Wish;

/// So many names are told where the one that was asked for is missing.
const TOLD: usize = 8;

/// Our name for the mistake.
const MISSING: &str = "no-schema";

/// Which schema a document is checked against.
#[derive(Debug)]
pub(crate) enum Choice {
    One(SchemaName),
    ByKind(Kinds),
}

/// Finds the schema. `packages` are imported by the program in that order.
pub(crate) fn choose(
    program: &Program,
    wish: &Wish,
    packages: &[Vec<Str>],
) -> Result<Choice, Box<Diagnostic>> {
    if let Some(path) = empty(program, packages) {
        let message = format!("there is no package `{}`: it has no KCL files", path.join("."));
        return Err(Box::new(Diagnostic::error(Code::MODULE, "module-not-found", Place::None, message)));
    }
    let main = program.main_package();
    let Some(schema) = &wish.schema else {
        if wish.by_kind || !wish.packages.is_empty() {
            return by_kind(program);
        }
        let first = schemas(&main.tree).next().map(|def| vec![def.name.name.clone()]);
        return Ok(Choice::One(first.map_or(SchemaName::None, SchemaName::Known)));
    };
    let (package, name) = split_last(schema);
    if package.is_empty() {
        let mut asked = packages.iter().enumerate().map(|(at, path)| (path, imported(program, &alias(at))));
        if declaration(main, &name) != Declaration::Type
            && let Some((path, _)) = asked.find(|(_, package)| package.is_some_and(|p| is_type(p, &name)))
        {
            return Ok(Choice::One(SchemaName::Imported { package: path.clone(), name }));
        }
        let everywhere = (0..packages.len()).filter_map(|at| imported(program, &alias(at)));
        let known = SchemaName::Known(vec![name.clone()]);
        return named(std::iter::once(main).chain(everywhere), &name, known)
            .map_err(|missing| in_an_import(program, &name).map_or(missing, Box::new));
    }
    if let [one] = package.as_slice()
        && binds(program, &package)
    {
        let known = SchemaName::Known(vec![one.clone(), name.clone()]);
        return match imported(program, one) {
            Some(package) => named(std::iter::once(package), &name, known),
            None => Err(no_schemas_in(one)),
        };
    }
    let at = packages.iter().position(|path| *path == package).unwrap_or(packages.len());
    let Some(found) = imported(program, &alias(at)) else { return Err(no_schemas_in(&package.join("."))) };
    named(std::iter::once(found), &name, SchemaName::Imported { package, name: name.clone() })
}

/// A package that was asked for and has no files. The language lets a program import such a folder of an external package.
fn empty<'a>(program: &Program, packages: &'a [Vec<Str>]) -> Option<&'a Vec<Str>> {
    let is_empty = |at: usize| imported(program, &alias(at)).is_some_and(|package| package.files.is_empty());
    packages.iter().enumerate().find(|(at, _)| is_empty(*at)).map(|(_, path)| path)
}

/// The package in a dotted name of a schema.
pub(crate) fn package_of(schema: &str) -> Option<Vec<Str>> {
    Some(split_last(schema).0).filter(|package| !package.is_empty())
}

/// Whether a path is a name that the code gives to an import of its own.
pub(crate) fn binds(program: &Program, path: &[Str]) -> bool {
    let imports = &program.main_package().imports;
    matches!(path, [one] if imports.iter().any(|link| link.name == *one))
}

pub(crate) fn parts(path: &str) -> Vec<Str> {
    path.split('.').map(Str::from).collect()
}

fn split_last(path: &str) -> (Vec<Str>, Str) {
    let mut all = parts(path);
    let last = all.pop().unwrap_or_default();
    (all, last)
}

fn by_kind(program: &Program) -> Result<Choice, Box<Diagnostic>> {
    let kinds = Kinds::of(program);
    if !kinds.known().is_empty() {
        return Ok(Choice::ByKind(kinds));
    }
    let message = "no schema of these packages fixes an apiVersion and a kind";
    let help = "such a schema has `apiVersion: \"apps/v1\" = \"apps/v1\"` and `kind: \"Deployment\" = \"Deployment\"`; \
                or name a schema with -s";
    let diagnostic = Diagnostic::error(Code::EVALUATION, "no-kinds", Place::None, message);
    Err(Box::new(diagnostic.with_help(help)))
}

/// The package behind a name that the code imports.
fn imported<'p>(program: &'p Program, name: &str) -> Option<&'p Package> {
    let mut links = program.main_package().imports.iter().filter(|link| link.name == name);
    links.find_map(|link| match link.target {
        ImportTarget::Package(id) => Some(program.package(id)),
        _ => None,
    })
}

/// What a name of a package is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Declaration {
    /// It is not there.
    Nothing,
    /// Something that an instance can be made of.
    Type,
    /// A variable that holds something else.
    Variable(Span),
}

fn is_type(package: &Package, name: &str) -> bool {
    declaration(package, name) == Declaration::Type
}

fn declaration(package: &Package, name: &str) -> Declaration {
    let mut found = Declaration::Nothing;
    for (ident, is_type) in names(package).filter(|(ident, _)| ident.name == name) {
        match is_type {
            true => return Declaration::Type,
            false => found = Declaration::Variable(ident.span),
        }
    }
    found
}

/// The names that a package declares, and whether an instance can be made of each: another name for a schema may be a variable.
fn names(package: &Package) -> impl Iterator<Item = (&Ident, bool)> {
    let tree = &package.tree;
    let body = tree.files.iter().flat_map(|file| &file.body);
    body.filter_map(move |stmt| match tree.stmt(*stmt) {
        Stmt::Schema(def) => Some((&def.name, true)),
        Stmt::Rule(def) => Some((&def.name, true)),
        Stmt::TypeAlias { name, .. } => Some((name, true)),
        Stmt::Assign { targets, value, .. } => match &**targets {
            [Target { name, path, .. }] if path.is_empty() => {
                let renames = matches!(tree.expr(*value), Expr::Name(_) | Expr::Selector { .. });
                Some((name, renames))
            }
            _ => None,
        },
        _ => None,
    })
}

/// The schema, if one of the packages has it; otherwise what is wrong, at what was probably meant.
fn named<'p>(
    packages: impl Iterator<Item = &'p Package>,
    name: &str,
    schema: SchemaName,
) -> Result<Choice, Box<Diagnostic>> {
    let packages: Vec<&Package> = packages.collect();
    for package in &packages {
        match declaration(package, name) {
            Declaration::Type => return Ok(Choice::One(schema)),
            Declaration::Variable(span) => {
                let message = format!("`{name}` is no schema");
                let place = package.place(span);
                return Err(Box::new(Diagnostic::error(Code::EVALUATION, MISSING, place, message)));
            }
            Declaration::Nothing => {}
        }
    }
    Err(Box::new(missing(&packages, name)))
}

fn missing(packages: &[&Package], name: &str) -> Diagnostic {
    let known =
        || packages.iter().flat_map(|package| schemas(&package.tree).map(|def| (*package, &def.name)));
    if let Some(near) = nearest(known().map(|(_, ident)| ident.name.as_str()), name)
        && let Some((package, ident)) = known().find(|(_, ident)| ident.name == near)
    {
        return meant(name, near, package.place(ident.span));
    }
    let place = packages.iter().find_map(|package| package.files.first());
    let place = place.map_or(Place::None, |file| Place::Span(*file, Span::default()));
    let mut told: Vec<String> =
        known().take(TOLD + 1).map(|(_, ident)| format!("`{}`", ident.name)).collect();
    if told.len() > TOLD {
        told[TOLD] = "…".to_owned();
    }
    let help = match told.is_empty() {
        true => "the code declares no schema".to_owned(),
        false => format!("it declares {}", told.join(", ")),
    };
    Diagnostic::error(Code::EVALUATION, MISSING, place, format!("there is no schema `{name}`"))
        .with_help(help)
}

/// A schema of that name in a package that the code imports.
fn in_an_import(program: &Program, name: &str) -> Option<Diagnostic> {
    program.main_package().imports.iter().find_map(|link| {
        let package = imported(program, &link.name)?;
        let def = schemas(&package.tree).find(|def| def.name.name == name)?;
        Some(meant(name, &format!("{}.{name}", link.name), package.place(def.name.span)))
    })
}

fn meant(name: &str, near: &str, place: Place) -> Diagnostic {
    let title = format!("there is no schema `{name}`");
    let message = format!("{title}, did you mean `{near}`?");
    let labels = vec![Label { place, message: format!("did you mean `{near}`?") }];
    Diagnostic::error(Code::EVALUATION, MISSING, place, message).with_telling(Telling { title, labels })
}

fn no_schemas_in(module: &str) -> Box<Diagnostic> {
    let message = format!("`{module}` has no schemas: it is no package of KCL files");
    Box::new(Diagnostic::error(Code::EVALUATION, MISSING, Place::None, message))
}
