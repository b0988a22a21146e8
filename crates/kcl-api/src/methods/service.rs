//! Questions about the service itself.

use crate::messages::{
    GetVersionArgs, GetVersionResult, ListMethodArgs, ListMethodResult, PingArgs, PingResult,
};
use crate::{Answer, Budget, METHODS};

/// The version of the language that this is compatible with.
const LANGUAGE: &str = "0.12.4";

/// Returns what was sent.
pub fn ping(args: &PingArgs, _: &Budget) -> Answer<PingResult> {
    Ok(PingResult { value: args.value.clone() })
}

/// Returns the names of all methods.
pub fn list_method(_: &ListMethodArgs, _: &Budget) -> Answer<ListMethodResult> {
    let names = METHODS.iter().map(|method| format!("{}.{}", method.service, method.name));
    Ok(ListMethodResult { method_name_list: names.collect() })
}

/// Returns the version of the language, and which program speaks it.
pub fn get_version(_: &GetVersionArgs, _: &Budget) -> Answer<GetVersionResult> {
    let own = env!("CARGO_PKG_VERSION");
    Ok(GetVersionResult {
        version: LANGUAGE.to_owned(),
        checksum: String::new(),
        git_sha: String::new(),
        version_info: format!(
            "Version: {LANGUAGE}\r\nPlatform: {}-{}\r\nProgram: kcl {own}",
            std::env::consts::ARCH,
            std::env::consts::OS
        ),
    })
}
