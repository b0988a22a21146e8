//! tofu's side: one working folder, prepared once, used for all cases.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use tf_schema::state::State;
use tf_value::json::Json;

use super::root;
use crate::terraform_mirror::{self, PROVIDERS};

pub(super) struct Tofu {
    program: PathBuf,
    folder: PathBuf,
}

impl Drop for Tofu {
    fn drop(&mut self) {
        // A folder that stays behind harms nobody.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Tofu {
    /// Builds what is missing, lays out the mirror and lets tofu install from it.
    pub(super) fn prepare() -> Result<Self, String> {
        let program = testenv::build_program("tofu").map_err(|error| error.to_string())?;
        let folder = root().join(format!("target/oracle/terraform-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        terraform_mirror::lay_out(&folder)?;
        let tofu = Tofu { program, folder };
        fs::create_dir_all(tofu.folder.join("work")).map_err(|error| error.to_string())?;
        tofu.write("work/main.tf.json", &main_file(&Json::Object(Vec::new())))?;
        tofu.run(&["init", "-input=false"])??;
        // Relative file names mean the same for both sides.
        std::env::set_current_dir(tofu.folder.join("work")).map_err(|error| error.to_string())?;
        Ok(tofu)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), String> {
        let path = self.folder.join(name);
        fs::write(&path, text).map_err(|error| format!("writing {}: {error}", path.display()))
    }

    /// The outer result is about running it, the inner one about what it says.
    fn run(&self, arguments: &[&str]) -> Result<Result<Output, String>, String> {
        let output = Command::new(&self.program)
            .args(arguments)
            .current_dir(self.folder.join("work"))
            .env("TF_CLI_CONFIG_FILE", self.folder.join("tofu.rc"))
            .env("TF_LOG_SDK", "off")
            .env("TF_IN_AUTOMATION", "1")
            .output()
            .map_err(|error| format!("starting {}: {error}", self.program.display()))?;
        if output.status.success() {
            return Ok(Ok(output));
        }
        Ok(Err(String::from_utf8_lossy(&output.stderr).into_owned()))
    }

    /// Forgets the state of the case before.
    pub(super) fn reset(&self) -> Result<(), String> {
        for name in ["terraform.tfstate", "terraform.tfstate.backup"] {
            let _ = fs::remove_file(self.folder.join("work").join(name));
        }
        let _ = fs::remove_dir_all(self.folder.join("work/out"));
        Ok(())
    }

    /// The state as tofu stored it. Written again it must be the same bytes.
    pub(super) fn state(&self) -> Result<State, String> {
        let text = match fs::read_to_string(self.folder.join("work/terraform.tfstate")) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(State::default()),
            Err(error) => return Err(error.to_string()),
        };
        let state = State::parse(text.as_bytes()).map_err(|error| error.to_string())?;
        let written = state.to_text();
        match text.lines().zip(written.lines()).find(|(theirs, ours)| theirs != ours) {
            Some((theirs, ours)) => {
                Err(format!("the state is written differently: tofu {theirs:?}, ours {ours:?}"))
            }
            // tofu ends its file with an empty line more.
            None if text.trim_end().len() != written.trim_end().len() => {
                Err("the state is written with another length".into())
            }
            None => Ok(state),
        }
    }

    /// Plans a configuration; the answer is tofu's plan as JSON.
    pub(super) fn plan(&self, step: &Json) -> Result<Result<Json, String>, String> {
        self.write("work/main.tf.json", &main_file(step))?;
        let mut arguments =
            vec!["plan".to_owned(), "-input=false".into(), "-no-color".into(), "-out=p".into()];
        for address in step.get("replace").and_then(Json::as_array).unwrap_or_default() {
            arguments.push(format!("-replace={}", address.as_str().unwrap_or_default()));
        }
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        if let Err(error) = self.run(&arguments)? {
            return Ok(Err(error));
        }
        let shown = self.run(&["show", "-json", "p"])??;
        Json::parse(&shown.stdout).map(Ok).map_err(|error| error.to_string())
    }

    /// Marks objects as damaged, as the user can; both sides see that in the state.
    pub(super) fn taint(&self, step: &Json) -> Result<(), String> {
        let addresses: Vec<&str> = super::ours::names(step, "taint").collect();
        addresses.into_iter().try_for_each(|address| self.run(&["taint", address])?.map(drop))
    }

    pub(super) fn apply(&self) -> Result<(), String> {
        self.run(&["apply", "-input=false", "-no-color", "p"])?.map(drop)
    }
}

/// The configuration with the providers that it may use.
fn main_file(step: &Json) -> String {
    let text = |text: &str| Json::string(text);
    let providers = PROVIDERS.map(|(namespace, name, version)| {
        let source = Json::Object(vec![
            ("source".into(), text(&format!("{namespace}/{name}"))),
            ("version".into(), text(version)),
        ]);
        (name.to_owned(), source)
    });
    let required = Json::Object(vec![("required_providers".into(), Json::Object(providers.to_vec()))]);
    let mut members = vec![("terraform".to_owned(), required)];
    let kept = |(name, _): &&(String, Json)| !super::WISHES.contains(&name.as_str());
    members.extend(step.as_object().unwrap_or_default().iter().filter(kept).cloned());
    Json::Object(members).pretty()
}
