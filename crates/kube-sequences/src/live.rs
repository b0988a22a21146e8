//! Running a sequence on the real server.
//!
//! In: a plane. Out: per step the request and what the server made of it. The custom kind is defined and the namespace
//! made once, by [`Live::new`].

use serde_json::{Value, json};
use testenv::ControlPlane;
use testenv::http::{Client, Response};

use crate::{Kind, Operation, Request, Sequence, definition, kinds, normal};

const NAMESPACE: &str = "sequences";

/// A request and the server's answer, without what differs from run to run.
#[derive(Debug, Clone)]
pub struct Step {
    pub request: Request,
    pub code: u16,
    /// The object after the step, or the error.
    pub outcome: Result<Value, Value>,
    /// True when the server wrote nothing (the resource version stayed).
    pub unchanged: bool,
}

/// A connection to a real server that is ready for sequences.
pub struct Live {
    client: Client,
}

impl Live {
    /// Prepares the server.
    pub fn new(plane: &ControlPlane) -> Result<Self, String> {
        let mut live = Self { client: plane.http() };
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
        live.prepare("/api/v1/namespaces", NAMESPACE, &namespace)?;
        let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        live.prepare(crds, "widgets.example.com", definition())?;
        let widget = kinds().iter().find(|kind| kind.kind == "Widget").ok_or("no custom kind")?;
        for _ in 0..1200 {
            if live.send("GET", &widget.path(NAMESPACE, None), "", &Value::Null)?.status == 200 {
                return Ok(live);
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        Err("the custom kind was not established in time".into())
    }

    fn prepare(&mut self, collection: &str, name: &str, object: &Value) -> Result<(), String> {
        let path = format!("{collection}/{name}?fieldManager=setup&force=true");
        let answer = self.send("PATCH", &path, "application/apply-patch+yaml", object)?;
        if answer.status >= 300 { Err(format!("PATCH {path}: {}", answer.text())) } else { Ok(()) }
    }

    fn send(
        &mut self,
        method: &str,
        path: &str,
        content_type: &str,
        body: &Value,
    ) -> Result<Response, String> {
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        self.client.request(method, path, content_type, &body).map_err(|error| error.to_string())
    }

    /// Runs a whole sequence; `each` sees every step. The object is left where it is.
    pub fn run(&mut self, sequence: &mut Sequence, mut each: impl FnMut(&Step)) -> Result<(), String> {
        let mut live: Option<Value> = None;
        for _ in 0..sequence.steps {
            let request = sequence.next(live.as_ref());
            let step = self.step(sequence.kind, &sequence.name, request, &mut live)?;
            each(&step);
        }
        Ok(())
    }

    /// One request; `live` is the object as the server last gave it and is kept up to date.
    fn step(
        &mut self,
        kind: &Kind,
        name: &str,
        mut request: Request,
        live: &mut Option<Value>,
    ) -> Result<Step, String> {
        let (method, path, content_type) = request.http(kind, NAMESPACE, name);
        let version = live.as_ref().map(|live| live["metadata"]["resourceVersion"].clone());
        let mut body = request.body.clone();
        if request.operation == Operation::Update {
            // Custom resources cannot be updated without it; the recording stays free of it.
            body["metadata"]["resourceVersion"] = version.clone().unwrap_or_default();
        }
        let answer = self.send(method, &path, content_type, &body)?;
        normal::addresses(&mut request.body);
        let mut object: Value = serde_json::from_slice(&answer.body)
            .map_err(|error| format!("{method} {path}: {error}: {}", answer.text()))?;
        if answer.status >= 300 {
            let outcome = Err(normal::error(&object));
            return Ok(Step { request, code: answer.status, outcome, unchanged: true });
        }
        if request.subresource.as_deref() == Some("scale") {
            let read = self.send("GET", &kind.path(NAMESPACE, Some(name)), "", &Value::Null)?;
            object = serde_json::from_slice(&read.body).map_err(|error| format!("GET {name}: {error}"))?;
        }
        let unchanged = version.as_ref() == Some(&object["metadata"]["resourceVersion"]);
        let step = Step { request, code: answer.status, outcome: Ok(normal::object(&object)), unchanged };
        *live = Some(object);
        Ok(step)
    }
}
