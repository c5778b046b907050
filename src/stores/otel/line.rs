//! The shapes of a line: the CLI's span, VS Code's span and log record, and OTLP's envelope.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::attributes::Attributes;
use super::span::Span;
use crate::stores::json::{Number, Text, filled, lenient};
use crate::usage::{Surface, Timestamp};

/// A line of any shape, or a span in an envelope: what a shape doesn't have is absent.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Line<'a> {
    #[serde(borrow, deserialize_with = "lenient")]
    r#type: Option<Text<'a>>,
    #[serde(borrow, deserialize_with = "lenient")]
    trace_id: Option<Text<'a>>,
    #[serde(borrow, deserialize_with = "lenient")]
    span_id: Option<Text<'a>>,
    /// VS Code writes the SDK's objects as they are in memory.
    #[serde(borrow, alias = "_spanContext", deserialize_with = "lenient")]
    span_context: Option<SpanContext<'a>>,
    #[serde(alias = "startTimeUnixNano")]
    start_time: Time,
    #[serde(alias = "endTimeUnixNano")]
    end_time: Time,
    /// Only log records have it.
    hr_time: Option<Time>,
    attributes: Attributes,
    #[serde(borrow, deserialize_with = "lenient")]
    status: Option<Status<'a>>,
    #[serde(deserialize_with = "lenient")]
    resource: Option<Resource>,
    /// OTLP's envelope.
    #[serde(borrow, deserialize_with = "lenient")]
    resource_spans: Option<Vec<ResourceSpans<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct SpanContext<'a> {
    #[serde(borrow, deserialize_with = "lenient")]
    trace_id: Option<Text<'a>>,
    #[serde(borrow, deserialize_with = "lenient")]
    span_id: Option<Text<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Status<'a> {
    #[serde(borrow, deserialize_with = "lenient")]
    code: Option<StatusCode<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum StatusCode<'a> {
    Number(Number),
    #[serde(borrow)]
    Name(Text<'a>),
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Resource {
    #[serde(alias = "_rawAttributes", alias = "_attributes")]
    attributes: Attributes,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ResourceSpans<'a> {
    #[serde(deserialize_with = "lenient")]
    resource: Option<Resource>,
    #[serde(
        borrow,
        alias = "instrumentationLibrarySpans",
        deserialize_with = "lenient"
    )]
    scope_spans: Option<Vec<ScopeSpans<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ScopeSpans<'a> {
    #[serde(borrow, deserialize_with = "lenient")]
    spans: Option<Vec<Line<'a>>>,
}

impl Line<'_> {
    /// The spans of the line; `surface` is that of the file, where the line itself doesn't tell.
    pub(super) fn spans(self, surface: Surface) -> Vec<Span> {
        if let Some(envelopes) = self.resource_spans {
            return envelopes
                .into_iter()
                .flat_map(|envelope| envelope.spans(surface))
                .collect();
        }
        let surface = match filled(&self.r#type) {
            Some("span") => Surface::Cli,
            // Metrics are running totals that double the spans.
            Some(_) => return Vec::new(),
            None => surface,
        };
        vec![self.span(surface, None)]
    }

    /// The line as a span; `resource` is that of an envelope around it.
    fn span(self, surface: Surface, resource: Option<&Attributes>) -> Span {
        let context = self.span_context.unwrap_or_default();
        let id = |own: &Option<Text<'_>>, context: &Option<Text<'_>>| {
            filled(own)
                .or_else(|| filled(context))
                .unwrap_or_default()
                .to_owned()
        };
        let trace_id = id(&self.trace_id, &context.trace_id);
        let span_id = id(&self.span_id, &context.span_id);
        let own = self.resource.map(|resource| resource.attributes);
        let resource = own.as_ref().or(resource);
        let mut attributes = self.attributes;
        attributes.service_version = resource.and_then(|r| r.service_version.clone());
        Span {
            surface: resource.and_then(surface_of).unwrap_or(surface),
            trace_id,
            span_id,
            start: self.hr_time.unwrap_or(self.start_time).0,
            end: self.end_time.0,
            failed: self.status.is_some_and(|status| status.is_error()),
            is_log_record: self.hr_time.is_some(),
            attributes,
        }
    }
}

impl ResourceSpans<'_> {
    fn spans(self, surface: Surface) -> Vec<Span> {
        let resource = self.resource.map(|resource| resource.attributes);
        let scopes = self.scope_spans.unwrap_or_default();
        let spans = scopes.into_iter().flat_map(|s| s.spans.unwrap_or_default());
        spans
            .map(|span| span.span(surface, resource.as_ref()))
            .collect()
    }
}

fn surface_of(resource: &Attributes) -> Option<Surface> {
    match resource.service.as_deref()? {
        "github-copilot" => Some(Surface::Cli),
        "copilot-chat" => Some(Surface::VsCode),
        "vs-copilot" => Some(Surface::VisualStudio),
        _ => None,
    }
}

impl Status<'_> {
    fn is_error(&self) -> bool {
        match &self.code {
            Some(StatusCode::Number(code)) => code.count() == 2,
            Some(StatusCode::Name(name)) => name.as_str() == "STATUS_CODE_ERROR",
            None => false,
        }
    }
}

/// A time as `[seconds, nanoseconds]`, a number or a text of one by magnitude, or an ISO text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Time(Option<Timestamp>);

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TimeVisitor)
    }
}

struct TimeVisitor;

impl<'de> Visitor<'de> for TimeVisitor {
    type Value = Time;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Time, A::Error> {
        let seconds = list.next_element::<f64>()?.unwrap_or_default();
        let nanos = list.next_element::<f64>()?.unwrap_or_default();
        while list.next_element::<IgnoredAny>()?.is_some() {}
        let millis = seconds * 1e3 + (nanos / 1e6).floor();
        Ok(Time(Timestamp::plausible(millis as i64)))
    }

    fn visit_u64<E>(self, n: u64) -> Result<Time, E> {
        Ok(Time(Timestamp::from_magnitude(n as f64)))
    }

    fn visit_i64<E>(self, n: i64) -> Result<Time, E> {
        Ok(Time(Timestamp::from_magnitude(n as f64)))
    }

    fn visit_f64<E>(self, n: f64) -> Result<Time, E> {
        Ok(Time(Timestamp::from_magnitude(n)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Time, E> {
        let by_magnitude = text.parse().ok().and_then(Timestamp::from_magnitude);
        Ok(Time(by_magnitude.or_else(|| Timestamp::parse_iso(text))))
    }

    fn visit_unit<E>(self) -> Result<Time, E> {
        Ok(Time(None))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Time, E> {
        Ok(Time(None))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Time, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Time(None))
    }
}
