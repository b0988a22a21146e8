//! What a rule found.

use base_diag::{Code, Diagnostic, FileId, Place, Severity, Span};
use kcl_syntax::program::Package;

use crate::rule::{Level, Rule};

/// A replacement of a range of one file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Edit {
    /// What is replaced, in offsets of the file.
    pub span: Span,
    /// What stands there then.
    pub text: String,
}

/// A change that mends a finding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fix {
    /// Whether the program means the same afterwards.
    pub safe: bool,
    /// The edits, all in the file of the finding.
    pub edits: Vec<Edit>,
}

/// What a rule found.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// How much it matters here.
    pub level: Level,
    /// The file.
    pub file: FileId,
    /// The place, in offsets of the file.
    pub span: Span,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
    /// A related place with what is said there.
    pub related: Option<(FileId, Span, String)>,
    /// How it can be mended.
    pub fix: Option<Fix>,
}

impl Finding {
    /// Returns the finding as a diagnostic, for the renderers.
    pub fn diagnostic(&self) -> Diagnostic {
        let code = Code { code: self.rule.code, kind: self.rule.kind };
        let place = Place::Span(self.file, self.span);
        let mut found = Diagnostic::error(code, self.rule.id, place, self.message.clone());
        if self.level != Level::Error {
            found.severity = Severity::Warning;
        }
        if let Some((file, span, text)) = &self.related {
            found = found.with_label(Place::Span(*file, *span), text.clone());
        }
        let fixable = self.fix.as_ref().map(|fix| match fix.safe {
            true => "`kcl lint --fix` does it",
            false => "`kcl lint --unsafe-fixes` does it; look at the result",
        });
        let help: Vec<&str> = self.help.as_deref().into_iter().chain(fixable).collect();
        match help.is_empty() {
            true => found,
            false => found.with_help(help.join("; ")),
        }
    }
}

/// Collects what the rules find in one package.
pub(crate) struct Findings<'a> {
    pub(crate) package: &'a Package,
    /// The rule that is asked, and how much its findings matter.
    pub(crate) rule: &'static Rule,
    pub(crate) level: Level,
    pub(crate) all: Vec<Finding>,
}

impl Findings<'_> {
    /// Adds a finding at a place of the package.
    pub(crate) fn add(&mut self, span: Span, message: impl Into<String>) -> &mut Finding {
        let (file, start) = self.package.locate(span.start);
        let span = Span::new(start, start + (span.end - span.start));
        self.all.push(Finding {
            rule: self.rule,
            level: self.level,
            file,
            span,
            message: message.into(),
            help: None,
            related: None,
            fix: None,
        });
        let last = self.all.len() - 1;
        &mut self.all[last]
    }
}

impl Finding {
    pub(crate) fn help(&mut self, help: impl Into<String>) -> &mut Self {
        self.help = Some(help.into());
        self
    }

    pub(crate) fn related(&mut self, package: &Package, span: Span, text: impl Into<String>) -> &mut Self {
        let (file, start) = package.locate(span.start);
        self.related = Some((file, Span::new(start, start + (span.end - span.start)), text.into()));
        self
    }

    /// Mends it by replacing a range of the package with a text; both must stand in the file of the finding.
    pub(crate) fn replace(
        &mut self,
        package: &Package,
        safe: bool,
        span: Span,
        text: impl Into<String>,
    ) -> &mut Self {
        let (_, start) = package.locate(span.start);
        let edit = Edit { span: Span::new(start, start + (span.end - span.start)), text: text.into() };
        self.fix = Some(Fix { safe, edits: vec![edit] });
        self
    }
}
