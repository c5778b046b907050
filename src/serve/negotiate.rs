//! Content negotiation: `Accept` and `Accept-Encoding` to what is sent (RFC 9110, section 12).

use crate::outlets::Format;

/// A format together with the version that the client is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Offer {
    pub(super) format: Form,
    media: &'static str,
    /// What a range must ask for to mean this offer and no other.
    version: &'static str,
    pub(super) content_type: &'static str,
}

/// [`Format`] without its options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Text,
    OpenMetrics,
    Protobuf,
}

impl Form {
    pub(super) const ALL: [Self; 3] = [Self::Text, Self::OpenMetrics, Self::Protobuf];

    pub(super) fn format(self, created: bool) -> Format {
        match self {
            Self::Text => Format::Text,
            Self::OpenMetrics => Format::OpenMetrics { created },
            Self::Protobuf => Format::Protobuf,
        }
    }
}

const PROTOBUF: &str = "application/vnd.google.protobuf";
const OPENMETRICS: &str = "application/openmetrics-text";

/// What is offered, in the order of preference among what a client likes equally well.
///
/// All names are valid in the oldest naming scheme, so that `escaping=underscores` is always true; it is
/// said only where the version requires it.
const OFFERS: [Offer; 5] = [
    Offer {
        format: Form::Text,
        media: "text/plain",
        version: "0.0.4",
        content_type: "text/plain; version=0.0.4; charset=utf-8",
    },
    Offer {
        format: Form::OpenMetrics,
        media: OPENMETRICS,
        version: "1.0.0",
        content_type: "application/openmetrics-text; version=1.0.0; charset=utf-8",
    },
    Offer {
        format: Form::OpenMetrics,
        media: OPENMETRICS,
        version: "0.0.1",
        content_type: "application/openmetrics-text; version=0.0.1; charset=utf-8",
    },
    Offer {
        format: Form::Text,
        media: "text/plain",
        version: "1.0.0",
        content_type: "text/plain; version=1.0.0; charset=utf-8; escaping=underscores",
    },
    Offer {
        format: Form::Protobuf,
        media: PROTOBUF,
        version: "",
        content_type: "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited",
    },
];

/// The best offer for an `Accept` header. A client that asks only for what is unknown here gets text, as
/// from every Prometheus exporter; `None` is for one that rules text out.
pub(super) fn exposition(accept: &str) -> Option<Offer> {
    let ranges: Vec<Range<'_>> = accept.split(',').filter_map(Range::parse).collect();
    let judged = OFFERS.map(|offer| (offer, judge(&offer, &ranges)));
    let mut best: Option<(Offer, Verdict)> = None;
    for (offer, verdict) in judged {
        let Some(verdict) = verdict.filter(|v| v.quality > 0) else {
            continue;
        };
        if best.is_none_or(|(_, other)| verdict.beats(&other)) {
            best = Some((offer, verdict));
        }
    }
    let text = judged.first().and_then(|&(_, verdict)| verdict);
    match best {
        Some((offer, _)) => Some(offer),
        None if text.is_none() => OFFERS.first().copied(),
        None => None,
    }
}

/// How much a client likes an offer.
#[derive(Debug, Clone, Copy)]
struct Verdict {
    /// Thousandths.
    quality: u16,
    specificity: u8,
    /// The place of the range in the header.
    place: usize,
}

impl Verdict {
    fn beats(&self, other: &Self) -> bool {
        let rank = |v: &Self| (v.quality, v.specificity, std::cmp::Reverse(v.place));
        rank(self) > rank(other)
    }
}

/// By the most specific range that covers `offer`; the first of several.
fn judge(offer: &Offer, ranges: &[Range<'_>]) -> Option<Verdict> {
    let mut verdict: Option<Verdict> = None;
    for (place, range) in ranges.iter().enumerate() {
        let Some(specificity) = range.covers(offer) else {
            continue;
        };
        if verdict.is_none_or(|v| specificity > v.specificity) {
            verdict = Some(Verdict {
                quality: range.quality,
                specificity,
                place,
            });
        }
    }
    verdict
}

/// One element of an `Accept` header.
#[derive(Debug)]
struct Range<'a> {
    media: &'a str,
    version: Option<&'a str>,
    proto: Option<&'a str>,
    encoding: Option<&'a str>,
    quality: u16,
}

impl<'a> Range<'a> {
    /// An element whose weight can't be read is as if it weren't there.
    fn parse(element: &'a str) -> Option<Self> {
        let mut parts = element.split(';').map(str::trim);
        let mut range = Self {
            media: parts.next()?,
            version: None,
            proto: None,
            encoding: None,
            quality: 1_000,
        };
        if !range.media.contains('/') {
            return None;
        }
        for part in parts {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let (name, value) = (name.trim(), value.trim().trim_matches('"'));
            match name.to_ascii_lowercase().as_str() {
                "q" => range.quality = quality(value)?,
                "version" => range.version = Some(value),
                "proto" => range.proto = Some(value),
                "encoding" => range.encoding = Some(value),
                _ => {}
            }
        }
        Some(range)
    }

    fn covers(&self, offer: &Offer) -> Option<u8> {
        if self.media == "*/*" {
            return Some(0);
        }
        let (kind, _) = offer.media.split_once('/')?;
        if let Some(wanted) = self.media.strip_suffix("/*") {
            return wanted.eq_ignore_ascii_case(kind).then_some(1);
        }
        if !self.media.eq_ignore_ascii_case(offer.media) {
            return None;
        }
        if offer.format == Form::Protobuf {
            let families = self.proto == Some("io.prometheus.client.MetricFamily");
            return (families && self.encoding == Some("delimited")).then_some(3);
        }
        match self.version {
            None | Some("") => Some(2),
            Some(version) => (version == offer.version).then_some(3),
        }
    }
}

/// Thousandths; `None` if it isn't between 0 and 1.
fn quality(text: &str) -> Option<u16> {
    let value: f32 = text.parse().ok()?;
    (0.0..=1.0)
        .contains(&value)
        .then(|| (value * 1_000.0).round() as u16)
}

/// How a body is coded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coding {
    Identity,
    Gzip,
}

/// The best coding for an `Accept-Encoding` header; `None` if all are ruled out.
pub(super) fn coding(accept_encoding: &str) -> Option<Coding> {
    let (mut gzip, mut identity, mut any) = (None, None, None);
    for element in accept_encoding.split(',') {
        let (name, weight) = element.split_once(';').unwrap_or((element, ""));
        let weight = weight.trim();
        let weight = match weight.strip_prefix("q=").or(weight.strip_prefix("Q=")) {
            Some(text) => quality(text),
            None => Some(1_000),
        };
        let place = match name.trim().to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => &mut gzip,
            "identity" => &mut identity,
            "*" => &mut any,
            _ => continue,
        };
        *place = place.or(weight);
    }
    let gzip = gzip.or(any).unwrap_or(0);
    // Not coded is acceptable unless it is ruled out, but the least liked.
    let identity_excluded = identity.or(any) == Some(0);
    if gzip > 0 && gzip >= identity.unwrap_or(0) {
        Some(Coding::Gzip)
    } else if identity_excluded {
        None
    } else {
        Some(Coding::Identity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accept_headers() {
        const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";
        const TEXT_1: &str = "text/plain; version=1.0.0; charset=utf-8; escaping=underscores";
        const OM: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
        const OM_0: &str = "application/openmetrics-text; version=0.0.1; charset=utf-8";
        const PROTO: &str = "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";
        for (accept, want) in [
            // Clients that say nothing, people's browsers, curl.
            ("", Some(TEXT)),
            ("*/*", Some(TEXT)),
            ("text/*", Some(TEXT)),
            (
                "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
                Some(TEXT),
            ),
            ("text/plain", Some(TEXT)),
            ("TEXT/PLAIN; Version=0.0.4", Some(TEXT)),
            ("text/plain; charset=utf-8", Some(TEXT)),
            ("application/*", Some(OM)),
            // Prometheus 2.42.
            (
                "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
                Some(OM),
            ),
            // Prometheus 2.42 that prefers protobuf.
            (
                "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,application/openmetrics-text;version=1.0.0;q=0.8,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
                Some(PROTO),
            ),
            // Prometheus 3.
            (
                "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1",
                Some(OM),
            ),
            (
                "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.6,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
                Some(TEXT_1),
            ),
            (
                "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6,application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,*/*;q=0.1",
                Some(PROTO),
            ),
            // Prometheus 1.
            (
                "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.7,text/plain;version=0.0.4;q=0.3,*/*;q=0.1",
                Some(PROTO),
            ),
            // Versions.
            ("application/openmetrics-text", Some(OM)),
            ("application/openmetrics-text; version=\"1.0.0\"", Some(OM)),
            ("application/openmetrics-text; version=0.0.1", Some(OM_0)),
            ("application/openmetrics-text; version=2.0.0", Some(TEXT)),
            (
                "application/openmetrics-text; version=2.0.0, application/openmetrics-text; version=1.0.0; q=0.5",
                Some(OM),
            ),
            // Encodings of protobuf that are not offered.
            (
                "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=text",
                Some(TEXT),
            ),
            ("application/vnd.google.protobuf", Some(TEXT)),
            // Weights.
            (
                "text/plain;q=0.2, application/openmetrics-text;q=0.3",
                Some(OM),
            ),
            (
                "application/openmetrics-text;q=0.3,text/plain;q=0.30000",
                Some(OM),
            ),
            ("text/plain, application/openmetrics-text", Some(TEXT)),
            ("application/openmetrics-text; q=0, */*", Some(TEXT)),
            ("text/plain; q=0, */*", Some(OM)),
            ("text/plain; q=0, application/openmetrics-text", Some(OM)),
            (
                "text/plain;q=nonsense, application/openmetrics-text;q=0.1",
                Some(OM),
            ),
            (
                "application/openmetrics-text;q=7, text/plain;q=0.1",
                Some(TEXT),
            ),
            // Nothing known is asked for: text all the same; unless it is ruled out.
            ("application/json", Some(TEXT)),
            ("nonsense", Some(TEXT)),
            (",;,", Some(TEXT)),
            ("application/json, */*;q=0", None),
            ("*/*;q=0", None),
            ("text/plain;q=0", None),
            ("text/*;q=0.0", None),
        ] {
            let got = exposition(accept).map(|offer| offer.content_type);
            assert_eq!(got, want, "{accept}");
        }
    }

    #[test]
    fn codings() {
        for (header, want) in [
            ("", Some(Coding::Identity)),
            ("gzip", Some(Coding::Gzip)),
            ("GZIP;q=0.5", Some(Coding::Gzip)),
            ("gzip, deflate, br, zstd", Some(Coding::Gzip)),
            ("gzip;q=0", Some(Coding::Identity)),
            ("gzip;q=0.1, identity;q=0.5", Some(Coding::Identity)),
            ("br", Some(Coding::Identity)),
            ("*", Some(Coding::Gzip)),
            ("*;q=0, gzip", Some(Coding::Gzip)),
            ("gzip;q=0, *", Some(Coding::Identity)),
            ("identity;q=0, gzip;q=0.2", Some(Coding::Gzip)),
            ("identity;q=0", None),
            ("*;q=0", None),
        ] {
            assert_eq!(coding(header), want, "{header}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_header_has_an_answer(
            before in "[ -~]{0,40}",
            quality in 1..=1_000u16,
        ) {
            let _ = (exposition(&before), coding(&before));
            let wanted = format!("application/openmetrics-text;q={}", f64::from(quality) / 1e3);
            let got = exposition(&wanted).map(|offer| offer.format);
            proptest::prop_assert_eq!(got, Some(Form::OpenMetrics));
        }
    }
}
