//! From a request to an answer.

use std::sync::Arc;
use std::time::Duration;

use hyper::body::Bytes;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode, Version};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::address::Origin;
use super::body::Payload;
use super::connection::Progress;
use super::crowd::Crowd;
use super::render::{Exposition, Renderer};
use super::web_config::{Settings, WebConfig};
use super::{host, negotiate, page};

/// What every connection needs for its answers.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) renderer: Arc<Renderer>,
    pub(super) web_config: WebConfig,
    /// Where the metrics are.
    pub(super) telemetry_path: String,
    pub(super) allowed_hosts: Vec<String>,
    /// Scrapes at the same time.
    pub(super) scrapes: Arc<Semaphore>,
    pub(super) crowd: Arc<Crowd>,
}

/// Where a request goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Route {
    Metrics,
    Healthy,
    Ready,
    Page,
    Nowhere,
}

impl Route {
    /// The label `handler`.
    fn as_str(self) -> &'static str {
        match self {
            Self::Metrics => "metrics",
            Self::Healthy => "healthy",
            Self::Ready => "ready",
            Self::Page => "page",
            Self::Nowhere => "none",
        }
    }
}

impl Desk {
    /// Makes the counters known that are known in advance.
    pub(super) fn open(&self) {
        for route in [Route::Metrics, Route::Healthy, Route::Ready, Route::Page] {
            self.renderer.recorder.http(route.as_str(), 200, 0);
        }
        self.renderer.recorder.http(Route::Metrics.as_str(), 503, 0);
    }

    /// Answers `request`, which came in by a listener of the given kind.
    pub(super) async fn answer<B>(
        &self,
        request: Request<B>,
        progress: &Arc<Progress>,
        origin: Origin,
    ) -> Response<Payload> {
        progress.request();
        let settings = self.web_config.settings();
        let route = self.route(request.uri().path());
        let mut response = match self.refusal(&request, &settings, origin).await {
            Some(refusal) => refusal,
            None => self.admitted(&request, route, origin).await,
        };
        let headers = response.headers_mut();
        headers.insert(
            header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        );
        for (name, value) in &settings.headers {
            headers.insert(name, value.clone());
        }
        let status = response.status().as_u16();
        self.renderer.recorder.http(route.as_str(), status, 1);
        response.map(|payload| payload.on(progress.clone()))
    }

    fn route(&self, path: &str) -> Route {
        match path {
            path if path == self.telemetry_path => Route::Metrics,
            "/-/healthy" => Route::Healthy,
            "/-/ready" => Route::Ready,
            "/" => Route::Page,
            _ => Route::Nowhere,
        }
    }

    /// What keeps a request out, whatever it asks for.
    async fn refusal<B>(
        &self,
        request: &Request<B>,
        settings: &Settings,
        origin: Origin,
    ) -> Option<Response<Payload>> {
        if settings
            .rate_limit
            .as_ref()
            .is_some_and(|limit| !limit.allows())
        {
            return Some(plain(StatusCode::TOO_MANY_REQUESTS, "too many requests\n"));
        }
        let mut hosts = request.headers().get_all(header::HOST).iter();
        let host = hosts.next();
        if hosts.next().is_some() || host.is_none() && request.version() == Version::HTTP_11 {
            return Some(plain(StatusCode::BAD_REQUEST, "not one Host header\n"));
        }
        if origin == Origin::Loopback
            && !host::is_allowed(host.map(HeaderValue::as_bytes), &self.allowed_hosts)
        {
            let text = "this exporter answers only to loopback names (see web.allowed_hosts)\n";
            return Some(plain(StatusCode::FORBIDDEN, text));
        }
        if let Some(users) = &settings.users {
            let authorization = request.headers().get(header::AUTHORIZATION);
            if !users.allow(authorization.map(HeaderValue::as_bytes)).await {
                let mut refusal = plain(StatusCode::UNAUTHORIZED, "unauthorized\n");
                let challenge = HeaderValue::from_static("Basic realm=\"copilot-exporter\"");
                refusal
                    .headers_mut()
                    .insert(header::WWW_AUTHENTICATE, challenge);
                return Some(refusal);
            }
        }
        None
    }

    async fn admitted<B>(
        &self,
        request: &Request<B>,
        route: Route,
        origin: Origin,
    ) -> Response<Payload> {
        if route == Route::Nowhere {
            return plain(StatusCode::NOT_FOUND, "not found\n");
        }
        if request.method() != Method::GET && request.method() != Method::HEAD {
            let mut refusal = plain(StatusCode::METHOD_NOT_ALLOWED, "method not allowed\n");
            let allow = HeaderValue::from_static("GET, HEAD");
            refusal.headers_mut().insert(header::ALLOW, allow);
            return refusal;
        }
        match route {
            Route::Metrics => self.metrics(request.headers()).await,
            Route::Healthy => plain(StatusCode::OK, "healthy\n"),
            Route::Ready => self.ready(),
            Route::Page => self.page(origin),
            Route::Nowhere => plain(StatusCode::NOT_FOUND, "not found\n"),
        }
    }

    fn ready(&self) -> Response<Payload> {
        match self.renderer.snapshot().ready {
            true => plain(StatusCode::OK, "ready\n"),
            false => plain(
                StatusCode::SERVICE_UNAVAILABLE,
                "the first scan is not done yet\n",
            ),
        }
    }

    async fn metrics(&self, headers: &HeaderMap) -> Response<Payload> {
        let accepted = |name| joined(headers, name);
        let (Some(offer), Some(coding)) = (
            negotiate::exposition(&accepted(header::ACCEPT)),
            negotiate::coding(&accepted(header::ACCEPT_ENCODING)),
        ) else {
            return plain(StatusCode::NOT_ACCEPTABLE, "no format that is acceptable\n");
        };
        let Some(place) = self.place().await else {
            let mut refusal = plain(
                StatusCode::SERVICE_UNAVAILABLE,
                "too many scrapes at the same time\n",
            );
            let seconds = HeaderValue::from_static("1");
            refusal.headers_mut().insert(header::RETRY_AFTER, seconds);
            return refusal;
        };
        let Exposition { snapshot, pieces } = match self.renderer.render(offer.format, coding).await
        {
            Ok(exposition) => exposition,
            Err(error) => {
                tracing::error!(%error, "a scrape could not be rendered");
                return plain(StatusCode::INTERNAL_SERVER_ERROR, "could not be rendered\n");
            }
        };
        let mut response = Response::new(Payload::new(pieces).carrying(snapshot, place));
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static(offer.content_type),
        );
        headers.insert(
            header::VARY,
            HeaderValue::from_static("Accept, Accept-Encoding"),
        );
        if coding == negotiate::Coding::Gzip {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        response
    }

    /// A place among the scrapes that are served; a client that doesn't take its answer loses its own.
    async fn place(&self) -> Option<OwnedSemaphorePermit> {
        const PATIENCE: Duration = Duration::from_secs(1);
        match self.scrapes.clone().try_acquire_owned() {
            Ok(place) => Some(place),
            Err(_) if self.crowd.shed_stalled() => {
                let freed = self.scrapes.clone().acquire_owned();
                tokio::time::timeout(PATIENCE, freed).await.ok()?.ok()
            }
            Err(_) => None,
        }
    }

    fn page(&self, origin: Origin) -> Response<Payload> {
        let html = page::render(
            &self.renderer.snapshot(),
            &self.telemetry_path,
            origin.is_local(),
        );
        let mut response = Response::new(Payload::new(vec![html.into()]));
        let headers = response.headers_mut();
        let fixed: [(HeaderName, &str); 5] = [
            (header::CONTENT_TYPE, "text/html; charset=utf-8"),
            (header::CACHE_CONTROL, "no-store"),
            (header::REFERRER_POLICY, "no-referrer"),
            (header::X_FRAME_OPTIONS, "deny"),
            (
                header::CONTENT_SECURITY_POLICY,
                page::content_security_policy(),
            ),
        ];
        for (name, value) in fixed {
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(name, value);
            }
        }
        response
    }
}

/// Several headers of a name are one list.
fn joined(headers: &HeaderMap, name: HeaderName) -> String {
    let values = headers.get_all(name).iter();
    let texts: Vec<&str> = values.filter_map(|value| value.to_str().ok()).collect();
    texts.join(",")
}

fn plain(status: StatusCode, text: &'static str) -> Response<Payload> {
    let mut response = Response::new(Payload::new(vec![Bytes::from_static(text.as_bytes())]));
    *response.status_mut() = status;
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    response
}
