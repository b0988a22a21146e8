//! Terraform resources that upstream's Kusion has recorded: its files have all attributes in clear and nothing else.

use serde_json::json;

use crate::providers::real;
use crate::terraform::call;
use crate::{run, text};

const PROVIDER: &str = "registry.opentofu.org/hashicorp/random/3.9.0";

#[test]
fn terraform_resources_of_upstream_are_taken_over_and_sealed() {
    let Some((folder, _)) = real() else { return };
    let folder = folder.path();
    let extensions = format!("{{provider = \"{PROVIDER}\", resourceType = \"random_password\"}}");
    let main = format!(
        "resources = [{{id = \"hashicorp:random:random_password:pw\", $type = \"Terraform\", \
         attributes = {{length = 12, special = False}}, extensions = {extensions}}}]\n"
    );
    std::fs::write(folder.join("dev/main.k"), main).unwrap();
    let attributes = json!({
        "id": "none", "length": 12, "special": false, "lower": true, "upper": true, "numeric": true, "number": true,
        "min_lower": 0, "min_upper": 0, "min_numeric": 0, "min_special": 0, "keepers": null, "override_special": null,
        "bcrypt_hash": "CANARY-hash", "result": "CANARY-5127abc",
    });
    let resource = json!({
        "id": "hashicorp:random:random_password:pw", "type": "Terraform", "attributes": attributes,
        "extensions": {"provider": PROVIDER, "resourceType": "random_password", "providerMeta": {}},
    });
    let release = json!({
        "project": "shop", "workspace": "default", "revision": 4, "stack": "dev", "phase": "succeeded",
        "spec": {"resources": []}, "state": {"resources": [resource]},
    });
    std::fs::write(folder.join("4.yaml"), release.to_string()).unwrap();
    let taken = call(folder, "state import dev 4.yaml -y", 0);
    assert!(
        taken.contains("1 resource recorded from 4.yaml (number 4)") && !taken.contains("CANARY"),
        "{taken}"
    );
    let kept = run(std::process::Command::new("grep").args(["-r", "CANARY"]).arg(folder.join("home")), 1);
    assert!(text(&kept.stdout).is_empty(), "{}", text(&kept.stdout));
    assert!(!call(folder, "state pull dev", 0).contains("CANARY"));
    // It is what is wanted, and what the provider has given it is still known.
    call(folder, "preview dev --exit-code", 0);
    call(folder, "export dev --tfstate out.tfstate --with-secrets", 0);
    assert!(std::fs::read_to_string(folder.join("out.tfstate")).unwrap().contains("CANARY-5127abc"));
    // Upstream has made it for this stack, so it goes with the stack.
    let gone = call(folder, "destroy dev -y", 0);
    assert!(gone.contains("1 deleted"), "{gone}");
}
