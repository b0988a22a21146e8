//! `kcl run -d -O`: the overrides of a run go into the files.

use base_file::Turn;
use kcl::Request;
use kcl_edit::{changes_of_override, plan};

use super::stack::files_of_request;
use super::workbench::{Answer, Workbench};

/// Writes overrides back as `kcl edit` does: to the last file below the working folder that sets the path.
///
/// # Errors
/// What to tell the user; nothing was written if an override was refused.
pub(crate) fn write_back(request: &Request, overrides: &[String]) -> Result<(), String> {
    let mut turn = Turn::default();
    let written = loop {
        if let Some(written) = changed(request, overrides)?.write(&mut turn) {
            break written;
        }
    };
    let failed =
        written.into_iter().find_map(|file| file.error.map(|error| format!("{} {error}", file.file)));
    failed.map_or(Ok(()), Err)
}

fn changed(request: &Request, overrides: &[String]) -> Result<Workbench, String> {
    const NAME: &str = "run";
    let mut session = Workbench::default();
    session.enter(NAME, files_of_request(request)?)?;
    for text in overrides {
        let told =
            |message: &str, help: &str| format!("-O {text} cannot be written back: {message}\nhelp: {help}");
        let changes = changes_of_override(text).map_err(|refusal| told(&refusal.message, &refusal.help))?;
        for change in changes {
            let members = session.members(NAME);
            if let Answer::Refused { message, help, .. } =
                session.make(NAME, &members, plan(&members, &change))
            {
                return Err(told(&message, &help));
            }
        }
    }
    Ok(session)
}
