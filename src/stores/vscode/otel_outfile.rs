//! The file that the chat extension's OpenTelemetry exporter writes, wherever the user's settings put it
//! (formats, vscode.md §7).

use std::io::Read;
use std::path::{Path, PathBuf};

use memchr::memmem;

use crate::stores::files::open_regular;
use crate::stores::{Cursor, Discovery, Home, Reader, Sink, Source, StoreError, StoreKind, otel};
use crate::usage::Surface;

use super::layout::{Search, root_of};
use super::skim::{Scalar, Skim};

const SETTING: &[u8] = b"\"github.copilot.chat.otel.outfile\"";
/// Settings are small; a longer file isn't read to its end.
const MOST_SETTINGS: u64 = 1 << 20;

/// Reads the files that the settings of every root and profile name.
#[derive(Debug)]
pub(crate) struct OtelOutfile;

impl Reader for OtelOutfile {
    fn kind(&self) -> StoreKind {
        StoreKind::VsCodeOtel
    }

    fn discover(&self, home: &Home) -> Discovery {
        let mut search = Search::new(home);
        for user in search.users() {
            let mut profiles = search.folders(&user.join("profiles"));
            profiles.push(user);
            for profile in profiles {
                let settings = profile.join("settings.json");
                let Some(outfile) = outfile(root_of(home, &settings), &settings) else {
                    continue;
                };
                // A copied home's settings speak of another machine's files.
                let is_here = !home.env.is_empty() || outfile.starts_with(&home.dir);
                // What the environment or the configuration names is read as the CLI's.
                if is_here && outfile.is_file() && !is_named(home, &outfile) {
                    search.add(Source::file(outfile));
                }
            }
        }
        search.finish()
    }

    fn read(
        &self,
        home: &Home,
        source: &Source,
        cursor: &Cursor,
        sink: &mut dyn Sink,
    ) -> Result<Cursor, StoreError> {
        let path = source.path.as_path();
        let root = match path.starts_with(&home.dir) {
            true => home.dir.as_path(),
            false => path.parent().unwrap_or(path),
        };
        otel::read_file(root, path, cursor, Surface::VsCode, sink)
    }
}

/// The value of the setting. Settings may hold comments, so only the setting itself is parsed.
fn outfile(root: &Path, settings: &Path) -> Option<PathBuf> {
    let (file, _) = open_regular(root, settings).ok()?;
    let mut text = Vec::new();
    file.take(MOST_SETTINGS).read_to_end(&mut text).ok()?;
    let at = memmem::find(&text, SETTING)? + SETTING.len();
    let value = text.get(at..)?.trim_ascii_start().strip_prefix(b":")?;
    match Skim::document(value).scalar() {
        Ok(Scalar::Text(path)) => Some(PathBuf::from(path)).filter(|path| path.is_absolute()),
        _ => None,
    }
}

fn is_named(home: &Home, outfile: &Path) -> bool {
    let variable = home.var("COPILOT_OTEL_FILE_EXPORTER_PATH").map(Path::new);
    let mut named = home.otel_files.iter().map(PathBuf::as_path).chain(variable);
    named.any(|path| path == outfile)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::stores::vscode::testing::Seen;
    use crate::usage::Fact;

    #[test]
    fn the_file_that_the_settings_name_is_read_once() {
        let dir = tempfile::tempdir().unwrap();
        let mut home = Home {
            dir: dir.path().to_owned(),
            ..Home::default()
        };
        let user = dir.path().join(".config/Code/User");
        fs::create_dir_all(&user).unwrap();
        let outfile = dir.path().join("spans.jsonl");
        let settings = format!(
            "{{\n  // a comment\n  \"github.copilot.chat.otel.outfile\" : {},\n}}",
            serde_json::to_string(&outfile).unwrap()
        );
        fs::write(user.join("settings.json"), settings).unwrap();
        assert_eq!(OtelOutfile.discover(&home).sources, []);
        let span = r#"{"name":"chat m","spanContext":{"traceId":"t","spanId":"a"},"startTime":[1790000000,0],
            "attributes":{"gen_ai.operation.name":"chat","gen_ai.usage.input_tokens":5}}"#;
        fs::write(&outfile, format!("{{}}\n{}\n", span.replace('\n', ""))).unwrap();
        let mut seen = Seen::default();
        seen.read_all(&OtelOutfile, &home);
        assert!(matches!(seen.facts().as_slice(), [Fact::Call(_)]));
        assert_eq!(seen.observations()[0].surface, Surface::VsCode);
        assert_eq!(seen.skipped, ["empty_object"]);
        home.otel_files = vec![outfile];
        assert_eq!(OtelOutfile.discover(&home).sources, []);
    }

    #[test]
    fn settings_that_name_no_file_are_fine() {
        let dir = tempfile::tempdir().unwrap();
        let settings = dir.path().join("settings.json");
        for text in [
            "",
            "{}",
            r#"{"github.copilot.chat.otel.outfile""#,
            r#"{"github.copilot.chat.otel.outfile": null}"#,
            r#"{"github.copilot.chat.otel.outfile": ""}"#,
            r#"{"github.copilot.chat.otel.outfile": "here.jsonl"}"#,
        ] {
            fs::write(&settings, text).unwrap();
            assert_eq!(outfile(dir.path(), &settings), None, "{text}");
        }
    }
}
