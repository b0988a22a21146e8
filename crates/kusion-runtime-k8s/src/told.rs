//! Every request to a cluster, told to who listens at the facade `log`: method, path, status, time. Bodies and headers are not
//! told, and of a query only its names: a selector may hold a value.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use futures::future::BoxFuture;
use http::{Request, Response, Uri};
use kube::Client;
use kube::client::{Body, ClientBuilder};
use kube::config::Config;
use tower::Service;

/// Makes a client. Who is not listened to pays nothing.
pub(crate) fn client(config: Config, context: &str) -> kube::Result<Client> {
    if let Some(program) = config.auth_info.exec.as_ref().and_then(|exec| exec.command.as_ref()) {
        log::debug!("program {program} started, for the login of context {context}");
    }
    let builder = ClientBuilder::try_from(config)?;
    if !log::log_enabled!(log::Level::Debug) {
        return Ok(builder.build());
    }
    let context: Arc<str> = context.into();
    let layer = tower::layer::layer_fn(move |below| Told { below, context: Arc::clone(&context) });
    Ok(builder.with_layer(&layer).build())
}

#[derive(Clone)]
struct Told<S> {
    below: S,
    context: Arc<str>,
}

impl<S, B> Service<Request<Body>> for Told<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Future: Send + 'static,
    S::Error: 'static,
    B: 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<S::Response, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.below.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let (asked, context) =
            (format!("{} {}", request.method(), shown(request.uri())), Arc::clone(&self.context));
        let (answer, began) = (self.below.call(request), Instant::now());
        Box::pin(async move {
            let answer = answer.await;
            let ms = began.elapsed().as_millis();
            match &answer {
                Ok(response) => {
                    log::debug!("cluster {context}: {asked} {} in {ms} ms", response.status().as_u16())
                }
                Err(_) => log::debug!("cluster {context}: {asked} was not answered, after {ms} ms"),
            }
            answer
        })
    }
}

/// A path, and the names of its query.
fn shown(uri: &Uri) -> String {
    let names = uri.query().into_iter().flat_map(|query| query.split('&'));
    let names: Vec<&str> = names.map(|pair| pair.split('=').next().unwrap_or(pair)).collect();
    match names.is_empty() {
        true => uri.path().to_owned(),
        false => format!("{}?{}", uri.path(), names.join("&")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_has_names_and_no_values() {
        let uri: Uri = "/api/v1/pods?labelSelector=token%3Dcanary&watch=true".parse().unwrap();
        assert_eq!(shown(&uri), "/api/v1/pods?labelSelector&watch");
        assert_eq!(shown(&"/api/v1".parse().unwrap()), "/api/v1");
    }
}
