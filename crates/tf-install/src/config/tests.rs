use super::*;

fn none(_: &str) -> Option<String> {
    None
}

fn read(text: &str) -> Result<CliConfig, String> {
    let around = Surroundings {
        variable: &|name| (name == "HOME").then(|| "/home/u".to_owned()),
        folder: "/w".into(),
    };
    let mut config = CliConfig::default();
    config.read(text, &around)?;
    Ok(config)
}

fn address(text: &str) -> Address {
    Address::parse(text, OPENTOFU).unwrap()
}

const NATIVE: &str = r#"
plugin_cache_dir = "$HOME/cache/${HOME}"
disable_checkpoint = true
credentials "app.example.org" { token = "s3cr3t" }
host "h.example" { services = { "providers.v1" = "https://x/v1/" } }
provider_installation {
  dev_overrides { "hashicorp/random" = "/dev/random" }
  filesystem_mirror {
    path    = "mirror"
    include = ["registry.terraform.io/*/*", "hashicorp/*"]
    exclude = ["hashicorp/aws"]
  }
  network_mirror { url = "https://mirror.example/p" }
  direct { exclude = ["*/*/*"] }
}
"#;

const JSON: &str = r#"{"plugin_cache_dir": "$HOME/cache/${HOME}", "credentials": {"app.example.org": {"token": "s3cr3t"}},
 "host": {"h.example": {"services": {"providers.v1": "https://x/v1/"}}},
 "provider_installation": {"dev_overrides": {"hashicorp/random": "/dev/random"},
  "filesystem_mirror": [{"path": "mirror", "include": ["registry.terraform.io/*/*", "hashicorp/*"], "exclude": ["hashicorp/aws"]}],
  "network_mirror": {"url": "https://mirror.example/p/"}, "direct": [{"exclude": ["*/*/*"]}]}}"#;

#[test]
fn both_forms_say_the_same() {
    for text in [NATIVE, JSON] {
        let config = read(text).unwrap();
        assert_eq!(config.plugin_cache.as_deref(), Some(Path::new("/home/u/cache//home/u")));
        assert_eq!(config.service("h.example", "providers.v1"), Some("https://x/v1/"));
        assert_eq!(config.token("app.example.org", &none).unwrap().expose_text(), Some("s3cr3t"));
        assert!(config.token("other.example", &none).is_none());
        assert_eq!(config.override_of(&address("random")), Some(Path::new("/dev/random")));
        let kinds = |name: &str| -> Vec<MethodKind> {
            config.methods_of(&address(name)).into_iter().map(|method| method.kind).collect()
        };
        let network = MethodKind::Network("https://mirror.example/p/".to_owned());
        assert_eq!(kinds("hashicorp/time"), [MethodKind::Folder("/w/mirror".into()), network.clone()]);
        assert_eq!(
            kinds("registry.terraform.io/x/y"),
            [MethodKind::Folder("/w/mirror".into()), network.clone()]
        );
        assert_eq!(kinds("hashicorp/aws"), std::slice::from_ref(&network));
        assert_eq!(kinds("acme/x"), [network]);
    }
}

#[test]
fn a_token_of_the_environment_comes_first_and_is_never_shown() {
    let config = read(NATIVE).unwrap();
    let variable = |name: &str| (name == "TF_TOKEN_my__host_example_org").then(|| "from-env".to_owned());
    assert_eq!(config.token("my-host.example.org", &variable).unwrap().expose_text(), Some("from-env"));
    assert!(!format!("{config:?}").contains("s3cr3t"));
}

#[test]
fn without_a_block_the_usual_folders_come_before_the_registry() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("terraform.d/plugins/registry.opentofu.org/hashicorp/time");
    std::fs::create_dir_all(place).unwrap();
    let around = Surroundings { variable: &none, folder: folder.path().to_owned() };
    let config = CliConfig::load(&around).unwrap();
    let kinds =
        |name: &str| config.methods_of(&address(name)).into_iter().map(|m| m.kind).collect::<Vec<_>>();
    assert_eq!(kinds("time"), [MethodKind::Folder(folder.path().join("terraform.d/plugins"))]);
    assert_eq!(kinds("random"), [MethodKind::Direct]);
}

#[test]
fn files_are_found_in_the_order_of_the_tools() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().display().to_string();
    let variable = |name: &str| match name {
        "HOME" => Some(home.clone()),
        "TF_CLI_CONFIG_FILE" => None,
        _ => None,
    };
    let around = Surroundings { variable: &variable, folder: folder.path().to_owned() };
    assert!(CliConfig::load(&around).unwrap().files.is_empty());
    std::fs::write(folder.path().join(".terraformrc"), "plugin_cache_dir = \"/a\"").unwrap();
    assert_eq!(CliConfig::load(&around).unwrap().plugin_cache.as_deref(), Some(Path::new("/a")));
    std::fs::write(folder.path().join(".tofurc"), "plugin_cache_dir = \"/b\"").unwrap();
    assert_eq!(CliConfig::load(&around).unwrap().plugin_cache.as_deref(), Some(Path::new("/b")));
    std::fs::create_dir(folder.path().join(".terraform.d")).unwrap();
    let login = r#"{"credentials": {"app.example.org": {"token": "t"}}}"#;
    std::fs::write(folder.path().join(".terraform.d/credentials.tfrc.json"), login).unwrap();
    assert!(CliConfig::load(&around).unwrap().token("app.example.org", &none).is_some());
    let missing = |name: &str| (name == "TF_CLI_CONFIG_FILE").then(|| "missing".to_owned());
    let around = Surroundings { variable: &missing, folder: folder.path().to_owned() };
    assert!(CliConfig::load(&around).unwrap_err().contains("is no file"));
}

#[test]
fn mistakes_are_told_with_their_line() {
    for (text, told) in [
        ("provider_installation {}\nprovider_installation {}", "line 2: provider_installation stands twice"),
        ("provider_installation {\n  oci_mirror {}\n}", "line 2: `oci_mirror` is no way to install"),
        (
            "provider_installation {\n  network_mirror { url = \"http://x\" }\n}",
            "does not begin with https://",
        ),
        ("provider_installation {\n  filesystem_mirror {}\n}", "line 2: `filesystem_mirror` needs `path`"),
        ("provider_installation {\n  direct { include = [\"a/b/c/d\"] }\n}", "is no pattern of providers"),
        ("provider_installation {\n  dev_overrides { \"x\" = 1 }\n}", "line 2: `x` is no text"),
        ("{\"provider_installation\": ", "EOF"),
    ] {
        let error = read(text).unwrap_err();
        assert!(error.contains(told), "{text}: {error}");
    }
}
