//! `FormatCode` and `FormatPath`.

use base_diag::FileId;
use kcl::sources;

use crate::messages::{FormatCodeArgs, FormatCodeResult, FormatPathArgs, FormatPathResult};
use crate::{Answer, Budget, Failure};

/// Formats a text. One that does not parse comes back as it is.
///
/// # Errors
/// None.
pub fn format_code(args: &FormatCodeArgs, _: &Budget) -> Answer<FormatCodeResult> {
    Ok(FormatCodeResult { formatted: kcl_fmt::format(&args.source, FileId(0)).text.into_bytes() })
}

/// Formats a file, a folder's own files, or everything below a folder (`FOLDER/...`); returns what changed, or would.
///
/// # Errors
/// A file that cannot be read or written.
pub fn format_path(args: &FormatPathArgs, budget: &Budget) -> Answer<FormatPathResult> {
    let mut changed_paths = Vec::new();
    // As in the reference, what is not there has nothing to be formatted.
    for path in sources::find(std::slice::from_ref(&args.path)).files {
        if budget.cancel.is_cancelled() {
            break;
        }
        let text = sources::text(&path).map_err(Failure::wrong)?;
        let formatted = kcl_fmt::format(&text, FileId(0)).text;
        if formatted == text {
            continue;
        }
        let shown = path.display().to_string();
        if !args.dry_run {
            sources::replace(&path, &formatted).map_err(|why| Failure::wrong(format!("{shown} {why}")))?;
        }
        changed_paths.push(shown);
    }
    Ok(FormatPathResult { changed_paths })
}
