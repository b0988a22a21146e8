//! From nothing to healthy, to broken, and back, in virtual time.

use crate::lab::Lab;
use crate::objects::{deployment, namespace, service, spec};

#[tokio::test(start_paused = true)]
async fn an_application_becomes_healthy_and_a_bad_image_is_named() {
    let lab = Lab::new();
    let good = spec(&[namespace(), deployment("web", "web:v1"), service("web")]);
    let report = lab.apply(&good).await;
    assert!(report.is_success(), "{report:#?}");
    lab.assert_converged(&good, "applied").await;
    let bad = spec(&[namespace(), deployment("web", "web:v2-typo"), service("web")]);
    let report = lab.apply(&bad).await;
    assert!(!report.is_success());
    let text = format!("{report:?}");
    assert!(text.contains("web:v2-typo") && text.contains("pull"), "{text}");
    let report = lab.apply(&good).await;
    assert!(report.is_success(), "{report:#?}");
}
