//! The page of a package, and the page that lists them.

use std::collections::BTreeSet;

use kcl_model::{Attribute, Check, Constraint, Kind, Package, Rule, Schema, SchemaRef, Subject, Type};

use super::Site;
use super::page::{breakable, page as whole};
use crate::anchor::safe;
use crate::keep::{first_sentence, short, shown, summary};
use crate::web::{highlight, html, inline, prose};

/// From the page of a package to the top of the site.
const ROOT: &str = "../";

pub(super) fn overview(site: &Site<'_>) -> String {
    let mut body = format!("<h1>{}</h1>\n", html::text(site.title()));
    if !site.model.version.is_empty() {
        body.push_str(&format!("<p class=\"crumbs\">version {}</p>\n", html::text(&site.model.version)));
    }
    body.push_str(&prose(&site.model.description));
    body.push_str("<div class=\"cards\">\n");
    for package in shown(site.model) {
        let title = if package.path.is_empty() { "main" } else { &package.path };
        let page = site.package_page(&package.path);
        let about = first_sentence(&package.doc);
        body.push_str(&format!(
            "<section class=\"card\">\n<h2><a href=\"{}\">{}</a></h2>\n<p>{}</p>\n<p class=\"names\">",
            html::text(&page),
            breakable(title),
            inline(&about)
        ));
        let names: Vec<String> = package
            .schemas
            .iter()
            .map(|schema| html::link(&format!("{page}#{}", safe(&schema.name)), &schema.name))
            .collect();
        body.push_str(&names.join(" "));
        body.push_str("</p>\n</section>\n");
    }
    body.push_str("</div>\n");
    whole(site, site.title(), "", None, &body)
}

pub(super) fn page(site: &Site<'_>, package: &Package) -> String {
    let title = if package.path.is_empty() { "main" } else { &package.path };
    let mut body = format!("<p class=\"crumbs\">package</p>\n<h1>{}</h1>\n", breakable(title));
    body.push_str(&prose(&package.doc));
    body.push_str("<dl class=\"index\">\n");
    for schema in &package.schemas {
        let anchor = format!("#{}", safe(&schema.name));
        let about = inline(&summary(schema));
        body.push_str(&format!(
            "<div><dt>{}</dt><dd>{about}</dd></div>\n",
            html::link(&anchor, &schema.name)
        ));
    }
    body.push_str("</dl>\n");
    for schema in &package.schemas {
        body.push_str(&section(site, package, schema));
    }
    let files: Vec<String> = package
        .files
        .iter()
        .map(|path| match site.source_link(path, 1) {
            Some(link) => format!("<li>{}</li>", html::link(&format!("{ROOT}{link}"), path)),
            None => format!("<li>{}</li>", html::text(path)),
        })
        .collect();
    body.push_str(&format!("<h2 class=\"files\">Source files</h2>\n<ul>\n{}\n</ul>\n", files.join("\n")));
    whole(site, title, ROOT, Some(&package.path), &body)
}

fn section(site: &Site<'_>, package: &Package, schema: &Schema) -> String {
    let id = safe(&schema.name);
    let mut out = format!(
        "<section class=\"schema\" id=\"{id}\">\n<h2><span class=\"kind\">{}</span> <a href=\"#{id}\">{}</a>{}</h2>\n",
        schema.kind.keyword(),
        html::text(&schema.name),
        source(site, schema.place.as_ref()),
    );
    if let Some(why) = schema.deprecated() {
        out.push_str(&format!("<p class=\"warn\">{}</p>\n", inline(&why)));
    }
    out.push_str(&prose(&schema.doc.description));
    out.push_str(&relations(site, schema));
    out.push_str(&attributes(site, schema, &id));
    out.push_str(&rules(site, schema));
    for (i, example) in schema.doc.examples.iter().enumerate() {
        out.push_str(if i == 0 { "<h3>Examples</h3>\n" } else { "" });
        out.push_str(&prose(&example.title));
        out.push_str(&format!("<pre><code>{}</code></pre>\n", highlight(example.code.trim_end())));
    }
    for section in &schema.doc.sections {
        out.push_str(&format!("<h3>{}</h3>\n{}", html::text(&section.title), prose(&section.text)));
    }
    out.push_str(&users(site, &SchemaRef { package: package.path.clone(), name: schema.name.clone() }));
    out.push_str("</section>\n");
    out
}

/// A link to where something is declared.
fn source(site: &Site<'_>, place: Option<&kcl_model::Lines>) -> String {
    let Some(place) = place else { return String::new() };
    match site.source_link(&place.file, place.line) {
        Some(link) => {
            let file = place.file.rsplit('/').next().unwrap_or(&place.file);
            let label = format!("{file}:{}", place.line);
            format!(
                " <a class=\"src\" href=\"{}\">{}</a>",
                html::text(&format!("{ROOT}{link}")),
                html::text(&label)
            )
        }
        None => String::new(),
    }
}

fn named(site: &Site<'_>, name: &SchemaRef) -> String {
    match site.schema_link(name) {
        Some(link) => format!("<code>{}</code>", html::link(&format!("{ROOT}{link}"), &name.name)),
        None => html::code(&name.full()),
    }
}

fn relations(site: &Site<'_>, schema: &Schema) -> String {
    let list = |all: &[SchemaRef]| all.iter().map(|name| named(site, name)).collect::<Vec<_>>().join(", ");
    let mut rows: Vec<String> = Vec::new();
    if !schema.parameters.is_empty() {
        let parameters: Vec<String> = schema
            .parameters
            .iter()
            .map(|p| {
                let default =
                    p.default.as_ref().map_or_else(String::new, |d| format!(" = {}", html::code(d)));
                format!("{}: {}{default}", html::code(&p.name), ty(site, &p.ty))
            })
            .collect();
        rows.push(format!("takes {}", parameters.join(", ")));
    }
    if !schema.bases.is_empty() {
        rows.push(format!("extends {}", list(&schema.bases)));
    }
    if !schema.mixins.is_empty() {
        rows.push(format!("mixes in {}", list(&schema.mixins)));
    }
    rows.extend(schema.host.as_ref().map(|host| format!("for {}", named(site, host))));
    if rows.is_empty() {
        String::new()
    } else {
        format!("<p class=\"relations\">{}</p>\n", rows.join(" · "))
    }
}

fn attributes(site: &Site<'_>, schema: &Schema, id: &str) -> String {
    let mut out = String::new();
    let lineage = site.model.lineage(schema);
    let all = if schema.kind == Kind::Rule { Vec::new() } else { site.model.all_attributes(schema) };
    let (own, inherited): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|(_, owner)| std::ptr::eq(*owner, schema));
    if !own.is_empty() || schema.index.is_some() {
        out.push_str("<h3>Attributes</h3>\n<dl class=\"attributes\">\n");
        for (attribute, _) in &own {
            out.push_str(&row(site, attribute, &lineage, Some(id)));
        }
        out.push_str(&index_row(site, schema));
        out.push_str("</dl>\n");
    }
    if !inherited.is_empty() {
        out.push_str(&format!(
            "<details><summary>{} inherited</summary>\n<dl class=\"attributes\">\n",
            inherited.len()
        ));
        for (attribute, _) in &inherited {
            out.push_str(&row(site, attribute, &lineage, None));
        }
        out.push_str("</dl>\n</details>\n");
    }
    out
}

fn row(site: &Site<'_>, attribute: &Attribute, lineage: &[&Schema], id: Option<&str>) -> String {
    let name = html::text(&attribute.name);
    let (anchor, label) = match id {
        Some(id) => {
            let anchor = format!("{id}.{}", safe(&attribute.name));
            (format!(" id=\"{anchor}\""), format!("<a href=\"#{anchor}\">{name}</a>"))
        }
        None => (String::new(), name),
    };
    let mark = match (attribute.is_required(), attribute.computed) {
        (true, _) => " <span class=\"badge required\">required</span>",
        (_, true) => " <span class=\"badge\">computed</span>",
        _ => "",
    };
    let default = match &attribute.default {
        Some(default) if !attribute.computed => {
            format!("<span class=\"default\"> = <code>{}</code></span>", highlight(&short(&default.source)))
        }
        _ => String::new(),
    };
    let mut about = String::new();
    if let Some(why) = attribute.deprecated() {
        about.push_str(&format!("<p class=\"warn\">{}</p>\n", inline(&why)));
    }
    about.push_str(&prose(&attribute.doc));
    let limits = limits(attribute, lineage);
    if !limits.is_empty() {
        about.push_str(&format!("<p class=\"limits\">{}</p>\n", limits.join(" · ")));
    }
    format!(
        "<div{anchor}><dt><code class=\"name\">{label}</code><span class=\"type\">{}</span>{default}{mark}{}</dt>\n<dd>{about}</dd></div>\n",
        ty(site, &attribute.ty),
        source(site, attribute.place.as_ref()),
    )
}

fn index_row(site: &Site<'_>, schema: &Schema) -> String {
    let Some(index) = &schema.index else { return String::new() };
    let name = index.key_name.as_ref().map_or_else(String::new, |name| format!("{}: ", html::text(name)));
    format!(
        "<div><dt><code class=\"name\">[{name}…{}]</code><span class=\"type\">{}</span></dt>\n<dd><p>Any other \
         attribute.</p></dd></div>\n",
        ty(site, &index.key),
        ty(site, &index.value)
    )
}

/// A type with links to its schemas.
fn ty(site: &Site<'_>, ty: &Type) -> String {
    // Schemas are set apart by characters that no escaped text has.
    let text = ty.text(&|schema| format!("\u{1}{}\u{2}{}\u{1}", schema.package, schema.name));
    let mut out = String::from("<code>");
    for (i, part) in text.split('\u{1}').enumerate() {
        match part.split_once('\u{2}') {
            Some((package, name)) if i % 2 == 1 => {
                let name = SchemaRef { package: package.into(), name: name.into() };
                match site.schema_link(&name) {
                    Some(link) => out.push_str(&html::link(&format!("{ROOT}{link}"), &name.name)),
                    None => out.push_str(&html::text(&name.full())),
                }
            }
            _ => out.push_str(&html::text(part)),
        }
    }
    out.push_str("</code>");
    out
}

/// What checks demand of an attribute, in short.
fn limits(attribute: &Attribute, lineage: &[&Schema]) -> Vec<String> {
    let checks = lineage.iter().flat_map(|owner| &owner.checks);
    let about = |c: &&Constraint| c.subject.attribute() == attribute.name;
    let mut found: Vec<String> =
        checks.flat_map(|check| &check.constraints).filter(about).map(limit).collect();
    found.dedup();
    found
}

fn limit(constraint: &Constraint) -> String {
    let whose = if matches!(constraint.subject, Subject::Attribute(_)) { "" } else { "each " };
    let said = match &constraint.rule {
        Rule::Min(n, exclusive) => format!("{} {}", if *exclusive { ">" } else { "≥" }, n.to_kcl()),
        Rule::Max(n, exclusive) => format!("{} {}", if *exclusive { "<" } else { "≤" }, n.to_kcl()),
        Rule::MinLen(n) => format!("length ≥ {n}"),
        Rule::MaxLen(n) => format!("length ≤ {n}"),
        Rule::Pattern(pattern) => format!("matches {pattern}"),
        Rule::OneOf(values) => {
            format!("one of {}", values.iter().map(|v| v.to_kcl()).collect::<Vec<_>>().join(", "))
        }
        Rule::NoneOf(values) => {
            format!("none of {}", values.iter().map(|v| v.to_kcl()).collect::<Vec<_>>().join(", "))
        }
        Rule::MultipleOf(n) => format!("multiple of {n}"),
        Rule::Unique => "no element twice".into(),
    };
    html::text(&format!("{whose}{said}"))
}

fn rules(site: &Site<'_>, schema: &Schema) -> String {
    if schema.checks.is_empty() {
        return String::new();
    }
    let mut out = String::from("<h3>Rules</h3>\n<ul class=\"rules\">\n");
    for check in &schema.checks {
        let message =
            check.message.as_ref().map_or_else(String::new, |m| format!("<p>{}</p>", html::text(m)));
        out.push_str(&format!(
            "<li><code>{}</code>{}{message}</li>\n",
            highlight(&condition(check)),
            source(site, check.place.as_ref())
        ));
    }
    out.push_str("</ul>\n");
    out
}

fn condition(check: &Check) -> String {
    match &check.guard {
        Some(guard) => format!("{} if {guard}", check.condition),
        None => check.condition.clone(),
    }
}

/// Schemas that extend this one, mix it in, or have it in an attribute.
fn users(site: &Site<'_>, wanted: &SchemaRef) -> String {
    let mut found: BTreeSet<SchemaRef> = BTreeSet::new();
    for package in shown(site.model) {
        for schema in &package.schemas {
            let mut uses = schema.bases.contains(wanted)
                || schema.mixins.contains(wanted)
                || schema.host.as_ref() == Some(wanted);
            for attribute in &schema.attributes {
                attribute.ty.each_schema(&mut |name| uses |= name == wanted);
            }
            let name = SchemaRef { package: package.path.clone(), name: schema.name.clone() };
            if uses && name != *wanted {
                found.insert(name);
            }
        }
    }
    if found.is_empty() {
        return String::new();
    }
    let links: Vec<String> = found.iter().map(|name| named(site, name)).collect();
    format!("<p class=\"users\">used by {}</p>\n", links.join(", "))
}
