//! The CLI configuration of Terraform and OpenTofu, as users have it: where providers come from, and credentials.

use std::path::{Path, PathBuf};

use base_secret::SecretValue;

use crate::address::{Address, OPENTOFU, TERRAFORM, host_name};
use crate::hcl::{self, Data, Node};

/// What a process is surrounded by.
pub struct Surroundings<'a> {
    /// Environment variables.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// The folder that relative paths begin at.
    pub folder: PathBuf,
}

impl Surroundings<'_> {
    fn set(&self, name: &str) -> Option<String> {
        (self.variable)(name).filter(|value| !value.is_empty())
    }

    fn home(&self) -> Option<PathBuf> {
        self.set("HOME").map(PathBuf::from)
    }

    fn xdg(&self, name: &str, fallback: &str) -> Option<PathBuf> {
        self.set(name).map(PathBuf::from).or_else(|| Some(self.home()?.join(fallback)))
    }
}

/// One place that providers come from, and for which of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Method {
    /// The place.
    pub kind: MethodKind,
    include: Vec<Pattern>,
    exclude: Vec<Pattern>,
}

/// A place that providers come from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MethodKind {
    /// The registry of the provider's own host.
    Direct,
    /// A folder with packages, packed or not.
    Folder(PathBuf),
    /// A mirror behind HTTPS; its address ends with `/`.
    Network(String),
}

impl Method {
    fn everything(kind: MethodKind) -> Method {
        Method { kind, include: Vec::new(), exclude: Vec::new() }
    }

    /// Whether a provider may come from here.
    pub fn serves(&self, address: &Address) -> bool {
        let fits = |patterns: &[Pattern]| patterns.iter().any(|pattern| pattern.fits(address));
        (self.include.is_empty() || fits(&self.include)) && !fits(&self.exclude)
    }
}

/// `host/namespace/name` with `*`; without a host it means both public registries.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Pattern {
    host: Option<String>,
    namespace: String,
    name: String,
}

impl Pattern {
    fn parse(text: &str) -> Result<Pattern, String> {
        let parts: Vec<&str> = text.split('/').collect();
        let (host, namespace, name) = match parts[..] {
            [host, namespace, name] => (Some(host), namespace, name),
            [namespace, name] => (None, namespace, name),
            [name] => (None, "hashicorp", name),
            _ => return Err(format!("`{text}` is no pattern of providers: HOST/NAMESPACE/NAME with `*`")),
        };
        let plain = |part: &str| if part == "*" { "x".to_owned() } else { part.to_owned() };
        let checked = format!("{}/{}/{}", plain(host.unwrap_or("*")), plain(namespace), plain(name));
        Address::parse(&checked, OPENTOFU)?;
        let host =
            host.map(|host| if host == "*" { Ok("*".to_owned()) } else { host_name(host) }).transpose()?;
        Ok(Pattern { host, namespace: namespace.to_ascii_lowercase(), name: name.to_ascii_lowercase() })
    }

    fn fits(&self, address: &Address) -> bool {
        let one = |pattern: &str, text: &str| pattern == "*" || pattern == text;
        let host = match &self.host {
            Some(host) => one(host, address.host()),
            None => matches!(address.host(), OPENTOFU | TERRAFORM),
        };
        host && one(&self.namespace, address.namespace()) && one(&self.name, address.name())
    }
}

/// The configuration.
#[derive(Clone, Debug, Default)]
pub struct CliConfig {
    /// Where providers come from, if it is said.
    installation: Option<Vec<Method>>,
    /// Folders with a provider in development.
    overrides: Vec<(Pattern, PathBuf)>,
    tokens: Vec<(String, SecretValue)>,
    /// Services of hosts that are not asked for them.
    services: Vec<(String, String, String)>,
    /// Where packages are kept, if it is said.
    pub plugin_cache: Option<PathBuf>,
    /// Places that are looked at where nothing is said.
    implied: Vec<PathBuf>,
    /// What was read.
    pub files: Vec<PathBuf>,
    /// What is there and not heeded.
    pub warnings: Vec<String>,
}

impl CliConfig {
    /// Reads what the user has: `TF_CLI_CONFIG_FILE`, else the first of the usual files; and the file that `login` writes.
    ///
    /// # Errors
    /// A sentence with the file and the line.
    pub fn load(around: &Surroundings<'_>) -> Result<CliConfig, String> {
        let mut config = CliConfig::default();
        let named = around
            .set("TF_CLI_CONFIG_FILE")
            .or_else(|| around.set("TERRAFORM_CONFIG"))
            .map(|file| around.folder.join(file));
        let found = match named {
            Some(file) if file.is_file() => Some(file),
            Some(file) => {
                return Err(format!("{}: TF_CLI_CONFIG_FILE names it, and it is no file", file.display()));
            }
            None => usual_files(around).into_iter().find(|file| file.is_file()),
        };
        let login = around.home().map(|home| home.join(".terraform.d/credentials.tfrc.json"));
        for file in login.filter(|file| file.is_file()).into_iter().chain(found) {
            let text = std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
            config.read(&text, around).map_err(|e| format!("{}: {e}", file.display()))?;
            config.files.push(file);
        }
        if let Some(folder) = around.set("TF_PLUGIN_CACHE_DIR") {
            config.plugin_cache = Some(around.folder.join(folder));
        }
        config.implied = implied(around);
        Ok(config)
    }

    /// Adds what a text says: HCL or JSON.
    ///
    /// # Errors
    /// A sentence with the line.
    pub fn read(&mut self, text: &str, around: &Surroundings<'_>) -> Result<(), String> {
        let root = hcl::configuration(text)?;
        for body in root.each("provider_installation") {
            if self.installation.is_some() {
                return Err(format!("{}provider_installation stands twice", body.place()));
            }
            let methods = self.methods(body, around)?;
            self.installation = Some(methods);
        }
        for (host, body) in root.each("credentials").flat_map(Node::entries) {
            if let Some(token) = body.members().first().map_or(Ok(None), |body| body.text("token"))? {
                let host = host_name(host).map_err(|e| format!("{}{e}", body.place()))?;
                self.tokens.push((host, SecretValue::from(token.to_owned())));
            }
        }
        for (host, body) in root.each("host").flat_map(Node::entries) {
            let host = host_name(host).map_err(|e| format!("{}{e}", body.place()))?;
            for (service, url) in
                body.members().iter().flat_map(|body| body.each("services")).flat_map(Node::entries)
            {
                if let Data::Text(url) = &url.data {
                    self.services.push((host.clone(), service.clone(), url.clone()));
                }
            }
        }
        if let Some(folder) = root.text("plugin_cache_dir")? {
            self.plugin_cache = Some(around.folder.join(expand(folder, around)));
        }
        if root.each("credentials_helper").next().is_some() {
            self.warnings
                .push("`credentials_helper` is not run: use `credentials` or TF_TOKEN_HOST".to_owned());
        }
        Ok(())
    }

    fn methods(&mut self, body: &Node, around: &Surroundings<'_>) -> Result<Vec<Method>, String> {
        let mut methods = Vec::new();
        for (key, node) in body.entries() {
            for node in node.members() {
                let told = |what: String| format!("{}{what}", node.place());
                let needed =
                    |name: &str| node.text(name)?.ok_or_else(|| told(format!("`{key}` needs `{name}`")));
                let kind = match key.as_str() {
                    "dev_overrides" => {
                        self.overrides.extend(overrides(node, around)?);
                        continue;
                    }
                    "direct" => MethodKind::Direct,
                    "filesystem_mirror" => MethodKind::Folder(around.folder.join(needed("path")?)),
                    "network_mirror" => {
                        let url = needed("url")?;
                        if !url.starts_with("https://") {
                            return Err(told(format!("`{url}` does not begin with https://")));
                        }
                        MethodKind::Network(format!("{}/", url.trim_end_matches('/')))
                    }
                    other => {
                        return Err(told(format!(
                            "`{other}` is no way to install providers that is known here"
                        )));
                    }
                };
                let patterns = |name: &str| {
                    node.texts(name)?
                        .into_iter()
                        .map(|text| Pattern::parse(text).map_err(told))
                        .collect::<Result<_, _>>()
                };
                methods.push(Method { kind, include: patterns("include")?, exclude: patterns("exclude")? });
            }
        }
        Ok(methods)
    }

    /// The folder of a provider in development.
    pub fn override_of(&self, address: &Address) -> Option<&Path> {
        self.overrides.iter().find(|(pattern, _)| pattern.fits(address)).map(|(_, folder)| folder.as_path())
    }

    /// Where a provider may come from, best first.
    pub fn methods_of(&self, address: &Address) -> Vec<Method> {
        match &self.installation {
            Some(methods) => methods.iter().filter(|method| method.serves(address)).cloned().collect(),
            // A provider that stands in one of the usual folders is taken from there alone.
            None => {
                let package = format!("{}/{}/{}", address.host(), address.namespace(), address.name());
                let here: Vec<Method> = self
                    .implied
                    .iter()
                    .filter(|folder| folder.join(&package).is_dir())
                    .map(|folder| Method::everything(MethodKind::Folder(folder.clone())))
                    .collect();
                if here.is_empty() { vec![Method::everything(MethodKind::Direct)] } else { here }
            }
        }
    }

    /// The token for a host: that of the environment first.
    pub fn token(&self, host: &str, variable: &dyn Fn(&str) -> Option<String>) -> Option<SecretValue> {
        let plain = host.replace('.', "_");
        let names = [format!("TF_TOKEN_{}", plain.replace('-', "__")), format!("TF_TOKEN_{plain}")];
        let set = names.iter().find_map(|name| variable(name).filter(|value| !value.is_empty()));
        set.map(SecretValue::from)
            .or_else(|| self.tokens.iter().rev().find(|(of, _)| of == host).map(|(_, token)| token.clone()))
    }

    /// The address of a service of a host, where the configuration says it.
    pub fn service(&self, host: &str, service: &str) -> Option<&str> {
        self.services
            .iter()
            .rev()
            .find(|(of, name, _)| of == host && name == service)
            .map(|(_, _, url)| url.as_str())
    }
}

fn overrides(node: &Node, around: &Surroundings<'_>) -> Result<Vec<(Pattern, PathBuf)>, String> {
    let mut found = Vec::new();
    for (name, folder) in node.entries() {
        let told = |what: String| format!("{}{what}", folder.place());
        let Data::Text(path) = &folder.data else { return Err(told(format!("`{name}` is no text"))) };
        found.push((Pattern::parse(name).map_err(told)?, around.folder.join(path)));
    }
    Ok(found)
}

fn usual_files(around: &Surroundings<'_>) -> Vec<PathBuf> {
    let home = around.home();
    let at_home = [".tofurc", ".terraformrc"].into_iter().filter_map(|name| Some(home.as_ref()?.join(name)));
    at_home
        .chain(around.xdg("XDG_CONFIG_HOME", ".config").map(|folder| folder.join("opentofu/tofurc")))
        .collect()
}

fn implied(around: &Surroundings<'_>) -> Vec<PathBuf> {
    let mut folders = vec![around.folder.join("terraform.d/plugins")];
    folders.extend(around.home().map(|home| home.join(".terraform.d/plugins")));
    let data = around.xdg("XDG_DATA_HOME", ".local/share");
    let shared = around.set("XDG_DATA_DIRS").unwrap_or_else(|| "/usr/local/share:/usr/share".to_owned());
    for folder in
        data.into_iter().chain(shared.split(':').filter(|dir| dir.starts_with('/')).map(PathBuf::from))
    {
        folders.extend(["opentofu/plugins", "terraform/plugins"].map(|name| folder.join(name)));
    }
    folders
}

/// Puts variables in: `$NAME` and `${NAME}`.
fn expand(text: &str, around: &Surroundings<'_>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        let braced = after.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len());
        let (name, behind) = braced.unwrap_or_else(|| after.split_at(end));
        out.push_str(&(around.variable)(name).unwrap_or_default());
        rest = behind;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests;
