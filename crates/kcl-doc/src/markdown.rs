//! Markdown: a page per package, and a page that lists them.

use std::fmt::Write;

use kcl_model::{Attribute, Check, Kind, Model, Package, Schema, SchemaRef, Type};

use crate::anchor::safe;
use crate::keep::{kept, short, shown, summary};
use crate::{File, Options};

/// Writes `README.md`, which lists the packages, and a page per package.
pub fn markdown(model: &Model, options: &Options) -> Vec<File> {
    let model = kept(model, options);
    let writer = Writer { model: &model, escape: options.escape_html, single: false };
    let packages: Vec<&Package> = shown(&model).collect();
    let mut files = vec![File { path: "README.md".into(), text: writer.index(&packages) }];
    files.extend(
        packages.iter().map(|package| File { path: page(&package.path), text: writer.package(package) }),
    );
    files
}

/// Writes all packages on one page.
pub fn markdown_page(model: &Model, options: &Options) -> String {
    let model = kept(model, options);
    let writer = Writer { model: &model, escape: options.escape_html, single: true };
    shown(&model).map(|package| writer.package(package)).collect::<Vec<_>>().join("\n")
}

fn anchor(package: &Package, schema: &Schema) -> String {
    safe(&SchemaRef { package: package.path.clone(), name: schema.name.clone() }.full())
}

/// The file of a package.
fn page(path: &str) -> String {
    let name = if path.is_empty() { "main" } else { path };
    // The list of packages has the name README.
    if name.eq_ignore_ascii_case("readme") {
        format!("{}_.md", safe(name))
    } else {
        format!("{}.md", safe(name))
    }
}

struct Writer<'m> {
    model: &'m Model,
    escape: bool,
    /// All packages stand on one page.
    single: bool,
}

impl Writer<'_> {
    fn index(&self, packages: &[&Package]) -> String {
        let name = if self.model.name.is_empty() { "Schemas" } else { &self.model.name };
        let mut out = format!("# {}\n", self.line(name));
        if !self.model.description.is_empty() {
            let _ = write!(out, "\n{}\n", self.prose(&self.model.description));
        }
        out.push_str("\n| package | schemas |\n|---|---|\n");
        for package in packages {
            let names: Vec<String> = package
                .schemas
                .iter()
                .map(|schema| {
                    let name = SchemaRef { package: package.path.clone(), name: schema.name.clone() };
                    format!("[{}]({})", self.line(&schema.name), self.link(&name))
                })
                .collect();
            let title = if package.path.is_empty() { "main" } else { &package.path };
            let _ =
                writeln!(out, "| [{}]({}) | {} |", self.line(title), page(&package.path), names.join(", "));
        }
        out
    }

    fn package(&self, package: &Package) -> String {
        let title = if package.path.is_empty() { "main" } else { &package.path };
        let mut out = format!("# Package {}\n", self.line(title));
        if !package.doc.is_empty() {
            let _ = write!(out, "\n{}\n", self.prose(&package.doc));
        }
        out.push_str("\n## Index\n\n");
        for schema in &package.schemas {
            let summary = summary(schema);
            let about = if summary.is_empty() { String::new() } else { format!(": {}", self.line(&summary)) };
            let _ = writeln!(out, "- [{}](#{}){about}", self.line(&schema.name), anchor(package, schema));
        }
        for schema in &package.schemas {
            self.schema(package, schema, &mut out);
        }
        out.push_str("\n## Source files\n\n");
        for file in &package.files {
            let _ = writeln!(out, "- {}", self.line(file));
        }
        out
    }

    fn schema(&self, package: &Package, schema: &Schema, out: &mut String) {
        let id = anchor(package, schema);
        let kind =
            if schema.kind == Kind::Schema { String::new() } else { format!(" ({})", schema.kind.keyword()) };
        let _ = write!(out, "\n<a id=\"{id}\"></a>\n## {}{kind}\n", self.line(&schema.name));
        if let Some(why) = schema.deprecated() {
            let _ = write!(out, "\n**{}**\n", self.line(&why));
        }
        if !schema.doc.description.is_empty() {
            let _ = write!(out, "\n{}\n", self.prose(&schema.doc.description));
        }
        self.relations(schema, out);
        self.attributes(schema, out);
        self.checks(schema, out);
        for (i, example) in schema.doc.examples.iter().enumerate() {
            out.push_str(if i == 0 { "\n**Examples**\n" } else { "" });
            if !example.title.is_empty() {
                let _ = write!(out, "\n{}\n", self.prose(&example.title));
            }
            let _ = write!(out, "\n{}\n", fenced("kcl", &example.code));
        }
        for section in &schema.doc.sections {
            let _ = write!(out, "\n**{}**\n\n{}\n", self.line(&section.title), self.prose(&section.text));
        }
    }

    fn relations(&self, schema: &Schema, out: &mut String) {
        let list = |all: &[SchemaRef]| {
            let links: Vec<String> = all.iter().map(|name| self.named_link(name)).collect();
            links.join(", ")
        };
        if !schema.parameters.is_empty() {
            let parameters: Vec<String> = schema
                .parameters
                .iter()
                .map(|p| {
                    let default = p.default.as_ref().map_or_else(String::new, |d| format!(" = {d}"));
                    code(&format!("{}: {}{default}", p.name, p.ty.text(&|s| s.name.clone())))
                })
                .collect();
            let _ = write!(out, "\nTakes {}.\n", parameters.join(", "));
        }
        if !schema.bases.is_empty() {
            let _ = write!(out, "\nExtends {}.\n", list(&schema.bases));
        }
        if !schema.mixins.is_empty() {
            let _ = write!(out, "\nMixes in {}.\n", list(&schema.mixins));
        }
        if let Some(host) = &schema.host {
            let _ = write!(out, "\nFor {}.\n", self.named_link(host));
        }
    }

    fn attributes(&self, schema: &Schema, out: &mut String) {
        let all = if schema.kind == Kind::Rule { Vec::new() } else { self.model.all_attributes(schema) };
        if all.is_empty() && schema.index.is_none() {
            return;
        }
        out.push_str("\n| name | type | description | default |\n|---|---|---|---|\n");
        for (attribute, owner) in &all {
            let mut about = Vec::new();
            about.extend(attribute.deprecated().map(|why| format!("**{}**", self.cell(&why))));
            if !attribute.doc.is_empty() {
                about.push(self.cell(&attribute.doc));
            }
            if owner.name != schema.name {
                about.push(format!("(from {})", self.cell(&owner.name)));
            }
            let default =
                attribute.default.as_ref().map(|d| table_code(&short(&d.source))).unwrap_or_default();
            let _ = writeln!(
                out,
                "| {}{} | {} | {} | {default} |",
                table_code(&attribute.name),
                mark(attribute),
                self.ty(&attribute.ty),
                about.join(" "),
            );
        }
        if let Some(index) = &schema.index {
            let name =
                index.key_name.as_ref().map_or_else(|| "...".to_owned(), |name| format!("{name}: ..."));
            let _ = writeln!(
                out,
                "| {} | {} | any other attribute |  |",
                table_code(&format!("[{name}]")),
                self.ty(&index.value)
            );
        }
    }

    fn checks(&self, schema: &Schema, out: &mut String) {
        if schema.checks.is_empty() {
            return;
        }
        out.push_str("\n**Rules**\n\n");
        for check in &schema.checks {
            let message = check.message.as_ref().map_or_else(String::new, |m| format!(": {}", self.line(m)));
            let _ = writeln!(out, "- {}{message}", code(&condition(check)));
        }
    }

    /// A type, with a link for each schema in it.
    fn ty(&self, ty: &Type) -> String {
        let mut out = String::new();
        // Schemas are set apart by a character that no type has.
        let text = ty.text(&|schema| format!("\u{1}{}\u{2}{}\u{1}", schema.package, schema.name));
        for (i, part) in text.split('\u{1}').enumerate() {
            match part.split_once('\u{2}') {
                Some((package, name)) if i % 2 == 1 => {
                    out.push_str(&self.named_link(&SchemaRef { package: package.into(), name: name.into() }));
                }
                _ if part.is_empty() => {}
                // Blanks at the ends of code are lost: between code and a link they stand outside.
                _ => {
                    out.push_str(if part.starts_with(' ') { " " } else { "" });
                    out.push_str(&table_code(part.trim()));
                    out.push_str(if part.ends_with(' ') { " " } else { "" });
                }
            }
        }
        out
    }

    fn named_link(&self, name: &SchemaRef) -> String {
        let external = self.model.package(&name.package).is_none_or(|package| package.external);
        if external || self.model.schema(name).is_none() {
            return table_code(&name.full());
        }
        format!("[{}]({})", self.cell(&name.name), self.link(name))
    }

    fn link(&self, name: &SchemaRef) -> String {
        let page = if self.single { String::new() } else { page(&name.package) };
        format!("{page}#{}", safe(&name.full()))
    }

    /// A text of several lines, as Markdown.
    fn prose(&self, text: &str) -> String {
        if self.escape { escape(text) } else { text.to_owned() }
    }

    /// A text on one line.
    fn line(&self, text: &str) -> String {
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if self.escape { escape(&line) } else { line }
    }

    /// A text in a cell of a table.
    fn cell(&self, text: &str) -> String {
        let paragraphs: Vec<String> =
            text.split("\n\n").map(|p| self.line(p).replace('|', "\\|")).filter(|p| !p.is_empty()).collect();
        paragraphs.join("<br>")
    }
}

/// Required attributes are marked; what the body computes is, too.
fn mark(attribute: &Attribute) -> &'static str {
    match (attribute.is_required(), attribute.computed) {
        (true, _) => " **required**",
        (_, true) => " computed",
        _ => "",
    }
}

fn condition(check: &Check) -> String {
    let text = match &check.guard {
        Some(guard) => format!("{} if {guard}", check.condition),
        None => check.condition.clone(),
    };
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Code on one line, with as many backticks around it as it needs.
fn code(text: &str) -> String {
    let line = text.split('\n').map(str::trim).collect::<Vec<_>>().join(" ");
    let longest = line.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let ticks = "`".repeat(longest + 1);
    let pad = if line.starts_with('`') || line.ends_with('`') { " " } else { "" };
    format!("{ticks}{pad}{line}{pad}{ticks}")
}

fn table_code(text: &str) -> String {
    code(text).replace('|', "\\|")
}

/// A fence that is longer than any in the text.
fn fenced(info: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let ticks = "`".repeat((longest + 1).max(3));
    format!("{ticks}{info}\n{}\n{ticks}", text.trim_end())
}
