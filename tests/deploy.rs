//! What ships to deploy with: it parses, its links and paths lead somewhere, and it uses options that exist.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use support::exporter::PROGRAM;
use support::tools::root;

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// All files below `folder` that end in `extension`, what others installed there aside.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("node_modules") && !path.ends_with("dist") {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|its| its == extension) {
            found.push(path);
        }
    }
    found
}

fn pages() -> Vec<PathBuf> {
    let mut pages = vec![root().join("README.md")];
    pages.extend(files(&root().join("docs"), "md"));
    pages.extend(files(&root().join("deploy"), "md"));
    assert!(pages.len() > 14, "{pages:?}");
    pages
}

/// The anchor of a heading, as GitHub makes it.
fn anchor(heading: &str) -> String {
    heading
        .trim()
        .to_lowercase()
        .chars()
        .filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

#[test]
fn links_lead_somewhere() {
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        for link in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
            .filter(|link| !link.contains("://"))
        {
            let (path, wanted) = link.split_once('#').unwrap_or((link, ""));
            let target = match path {
                "" => page.clone(),
                path => page.parent().unwrap().join(path),
            };
            assert!(target.exists(), "{}: {link}", page.display());
            if !wanted.is_empty() {
                let text = std::fs::read_to_string(&target).unwrap();
                let found = text
                    .lines()
                    .filter_map(|line| line.strip_prefix('#'))
                    .any(|heading| anchor(heading.trim_start_matches('#')) == wanted);
                assert!(found, "{}: {link}", page.display());
            }
        }
    }
}

/// Every page of docs/ can be reached from the README.
#[test]
fn no_page_is_forgotten() {
    let mut reached = vec![root().join("README.md")];
    let mut next = 0;
    while let Some(page) = reached.get(next).cloned() {
        next += 1;
        let text = std::fs::read_to_string(&page).unwrap();
        for link in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split([')', '#']).next())
        {
            let target = page.parent().unwrap().join(link);
            if link.ends_with(".md") && target.exists() {
                let target = target.canonicalize().unwrap();
                if !reached.contains(&target) {
                    reached.push(target);
                }
            }
        }
    }
    for page in files(&root().join("docs"), "md") {
        assert!(
            reached.contains(&page.canonicalize().unwrap()),
            "{}",
            page.display()
        );
    }
}

/// The options that units, images and tasks start the exporter with are its own.
#[test]
fn start_commands_use_options_that_exist() {
    let help = |command: &str| {
        let output = Command::new(PROGRAM).args([command, "--help"]).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    let (serve, demo) = (help("serve"), help("demo"));
    for file in [
        "deploy/systemd/system/copilot-exporter.service",
        "deploy/systemd/user/copilot-exporter.service",
        "deploy/launchd/copilot-exporter.plist",
        "deploy/docker/Dockerfile",
        "deploy/docker/compose.yml",
        "deploy/docker/own.yml",
        "deploy/windows/README.md",
    ] {
        let text = read(file);
        let starts: Vec<&str> = text
            .lines()
            .map(str::trim)
            .filter(|line| {
                [
                    "ExecStart=",
                    "CMD ",
                    "command: ",
                    "<string>serve",
                    "$action ",
                ]
                .iter()
                .any(|start| line.starts_with(start))
            })
            .collect();
        assert!(!starts.is_empty(), "{file} starts nothing");
        for line in starts {
            let help = match (line.contains("demo"), line.contains("serve")) {
                (true, _) => &demo,
                (_, true) => &serve,
                _ => continue,
            };
            for option in line
                .split([' ', '"', ',', '[', ']', '=', '<'])
                .filter(|word| word.starts_with("--"))
            {
                assert!(help.contains(&format!("{option} ")), "{file}: {option}");
            }
        }
    }
}

/// Files of this repository that deployment files name.
#[test]
fn named_files_exist() {
    let named = |file: &str, pick: fn(&str) -> Vec<&str>| {
        let text = read(file);
        let folder = root().join(file).parent().unwrap().to_owned();
        let mut found = 0;
        for line in text.lines() {
            for name in pick(line.trim()) {
                let at = [root(), &folder].map(|base| base.join(name).exists());
                assert!(at.contains(&true), "{file}: {name}");
                found += 1;
            }
        }
        assert!(found > 0, "{file} names nothing");
    };
    named("deploy/docker/Dockerfile", |line| {
        match line.strip_prefix("COPY ") {
            Some(rest) if !rest.starts_with("--") => {
                let words: Vec<&str> = rest.split(' ').collect();
                words[..words.len() - 1].to_vec()
            }
            _ => Vec::new(),
        }
    });
    named("deploy/docker/compose.yml", |line| {
        let mount = line
            .strip_prefix("- .")
            .and_then(|rest| rest.split(':').next());
        mount.map_or(Vec::new(), |_| vec![line[2..].split(':').next().unwrap()])
    });
    named("Cargo.toml", |line| {
        let asset = line
            .strip_prefix("[\"")
            .and_then(|rest| rest.split('"').next());
        asset
            .filter(|asset| !asset.starts_with("target/"))
            .map(|asset| asset.split("/*").next().unwrap())
            .into_iter()
            .collect()
    });
}

/// What only Python reads here, it can read.
#[test]
fn files_parse() {
    let python = |program: &str, path: &Path| {
        let output = Command::new("python3")
            .args(["-c", program])
            .arg(path)
            .output();
        let output = output.expect("python3");
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{}: {complaint}", path.display());
    };
    python(
        "import plistlib, sys; job = plistlib.load(open(sys.argv[1], 'rb'))\n\
         assert job['ProgramArguments'][1:] == ['serve'] and job['Label'] == 'copilot-exporter'",
        &root().join("deploy/launchd/copilot-exporter.plist"),
    );
    let yaml = ["yml", "yaml"].map(|extension| files(&root().join("deploy"), extension));
    let yaml = yaml.concat();
    assert!(yaml.len() > 12, "{yaml:?}");
    for path in yaml {
        let text = std::fs::read_to_string(&path).unwrap();
        for document in text.split("\n---\n") {
            serde_saphyr::from_str::<serde_json::Value>(document)
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
    }
}

/// The score of the system unit is the one that the documentation quotes, and systemd understands both units.
#[test]
fn the_system_unit_is_as_locked_up_as_documented() {
    let unit = root().join("deploy/systemd/system/copilot-exporter.service");
    let Ok(output) = Command::new("systemd-analyze")
        .args(["security", "--offline=yes", "--no-pager", "--threshold=15"])
        .arg(&unit)
        .output()
    else {
        // Only systems with systemd can tell.
        return;
    };
    let report = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{report}");
    assert!(read("docs/install.md").contains("scores it 1.5"));
}
