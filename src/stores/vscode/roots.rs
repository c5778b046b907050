//! Where VS Code and its kin keep their `User` folders: every product, every place, all three systems
//! (formats, vscode.md §1). None hides another.

use std::path::{Path, PathBuf};

use crate::stores::files::list;
use crate::stores::{Home, Os};

/// The name of the folder in which a product keeps its user data.
const PRODUCTS: [&str; 8] = [
    "Code",
    "Code - Insiders",
    "Code - Exploration",
    "Code - OSS",
    "VSCodium",
    "VSCodium - Insiders",
    "Cursor",
    "Windsurf",
];

/// What runs on the far side of a remote window; user data lie in `data` below.
const SERVERS: [&str; 8] = [
    ".vscode-server",
    ".vscode-server-insiders",
    ".vscode-server-exploration",
    ".vscode-server-oss",
    ".vscodium-server",
    ".vscode-remote",
    ".cursor-server",
    ".windsurf-server",
];

/// Where a Flatpak keeps what would else lie in the user's configuration folder.
const FLATPAKS: [(&str, &str); 3] = [
    ("com.visualstudio.code", "Code"),
    ("com.visualstudio.code.insiders", "Code - Insiders"),
    ("com.vscodium.codium", "VSCodium"),
];

/// All `User` folders that may exist for `home`.
pub(super) fn user_folders(home: &Home) -> Vec<PathBuf> {
    let windows_side = match home.os {
        Os::Linux if is_own(home) => {
            let users = Path::new("/mnt/c/Users");
            list(users, users).unwrap_or_default()
        }
        _ => Vec::new(),
    };
    let windows_homes: Vec<_> = windows_side
        .into_iter()
        .filter(|entry| entry.is_dir)
        .map(|entry| entry.path)
        .collect();
    candidates(home, &windows_homes)
}

/// The rule behind [`user_folders`], without looking at anything.
fn candidates(home: &Home, windows_homes: &[PathBuf]) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = bases(home)
        .into_iter()
        .chain(windows_homes.iter().map(|home| roaming(home)))
        .flat_map(|base| PRODUCTS.map(|product| base.join(product).join("User")))
        .collect();
    folders.extend(FLATPAKS.map(|(app, product)| {
        let config = home.dir.join(".var/app").join(app).join("config");
        config.join(product).join("User")
    }));
    let mut server_homes = vec![home.dir.clone()];
    if is_own(home) && home.os == Os::Linux {
        // Where containers put the server when the home isn't theirs.
        server_homes.extend(["/tmp", "/workspace"].map(PathBuf::from));
    }
    for dir in server_homes {
        folders.extend(SERVERS.map(|server| dir.join(server).join("data/User")));
    }
    folders.push(home.dir.join(".local/share/code-server/User"));
    if let Some(portable) = home.var("VSCODE_PORTABLE") {
        folders.push(Path::new(portable).join("user-data/User"));
    }
    for dir in &home.vscode_user_data_dirs {
        folders.extend(user_data(dir));
    }
    folders.sort();
    folders.dedup();
    folders
}

/// The folders in which products have their folder. A home that is merely examined may be a copy from
/// any system.
fn bases(home: &Home) -> Vec<PathBuf> {
    let linux = || match home.var("XDG_CONFIG_HOME") {
        Some(config) => PathBuf::from(config),
        None => home.dir.join(".config"),
    };
    let mac = || home.dir.join("Library/Application Support");
    let windows = || match home.var("APPDATA") {
        Some(roaming) => PathBuf::from(roaming),
        None => roaming(&home.dir),
    };
    match home.os {
        _ if !is_own(home) => vec![linux(), mac(), windows()],
        Os::Linux => vec![linux()],
        Os::MacOs => vec![mac()],
        Os::Windows => vec![windows()],
    }
}

fn roaming(home: &Path) -> PathBuf {
    home.join("AppData/Roaming")
}

/// What a configured folder may be: a user-data folder, the `User` folder itself, or a portable install.
fn user_data(dir: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = [
        "User",
        "user-data/User",
        "data/user-data/User",
        "code-portable-data/user-data/User",
    ]
    .map(|below| dir.join(below))
    .into();
    if dir.ends_with("User") {
        folders.push(dir.to_owned());
    }
    folders
}

/// The user's own home: only there does the environment count.
fn is_own(home: &Home) -> bool {
    !home.env.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home(os: Os, env: &[(&str, &str)]) -> Home {
        Home {
            dir: "/home/u".into(),
            os,
            env: env
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            ..Home::default()
        }
    }

    #[track_caller]
    fn has(home: &Home, path: &str, want: bool) {
        let found = candidates(home, &[]).contains(&PathBuf::from(path));
        assert_eq!(found, want, "{path}");
    }

    #[test]
    fn edge_133_every_product_and_place_on_linux() {
        let home = home(Os::Linux, &[("TMPDIR", "/tmp")]);
        for path in [
            "/home/u/.config/Code/User",
            "/home/u/.config/Code - Insiders/User",
            "/home/u/.config/Code - Exploration/User",
            "/home/u/.config/Code - OSS/User",
            "/home/u/.config/VSCodium/User",
            "/home/u/.config/Cursor/User",
            "/home/u/.config/Windsurf/User",
            "/home/u/.var/app/com.visualstudio.code/config/Code/User",
            "/home/u/.var/app/com.vscodium.codium/config/VSCodium/User",
            "/home/u/.vscode-server/data/User",
            "/home/u/.vscode-server-insiders/data/User",
            "/home/u/.vscodium-server/data/User",
            "/home/u/.vscode-remote/data/User",
            "/tmp/.vscode-server/data/User",
            "/workspace/.vscode-server/data/User",
            "/home/u/.local/share/code-server/User",
        ] {
            has(&home, path, true);
        }
        has(
            &home,
            "/home/u/Library/Application Support/Code/User",
            false,
        );
    }

    #[test]
    fn the_environment_moves_the_folders_of_the_own_home() {
        let linux = home(Os::Linux, &[("XDG_CONFIG_HOME", "/cfg")]);
        has(&linux, "/cfg/Code/User", true);
        has(&linux, "/home/u/.config/Code/User", false);
        let windows = home(Os::Windows, &[("APPDATA", "/roam")]);
        has(&windows, "/roam/VSCodium/User", true);
        let portable = home(Os::MacOs, &[("VSCODE_PORTABLE", "/stick/data")]);
        has(&portable, "/stick/data/user-data/User", true);
    }

    #[test]
    fn each_system_has_its_own_base() {
        let env = [("TEMP", "t")];
        let mac = home(Os::MacOs, &env);
        has(
            &mac,
            "/home/u/Library/Application Support/Code - Insiders/User",
            true,
        );
        has(&mac, "/home/u/.config/Code/User", false);
        let windows = home(Os::Windows, &env);
        has(&windows, "/home/u/AppData/Roaming/Code/User", true);
        has(&windows, "/home/u/.config/Code/User", false);
    }

    #[test]
    fn edge_206_a_copied_home_may_come_from_any_system() {
        let home = home(Os::Linux, &[]);
        for path in [
            "/home/u/.config/Code/User",
            "/home/u/Library/Application Support/Code/User",
            "/home/u/AppData/Roaming/Code/User",
        ] {
            has(&home, path, true);
        }
        has(&home, "/tmp/.vscode-server/data/User", false);
    }

    #[test]
    fn the_windows_side_of_a_wsl_home() {
        let home = home(Os::Linux, &[("TMPDIR", "/tmp")]);
        let folders = candidates(&home, &["/mnt/c/Users/ada".into()]);
        let want = PathBuf::from("/mnt/c/Users/ada/AppData/Roaming/Code/User");
        assert!(folders.contains(&want));
    }

    #[test]
    fn configured_folders_in_every_form() {
        let mut home = home(Os::Linux, &[]);
        home.vscode_user_data_dirs = vec!["/opt/code".into(), "/x/User".into()];
        for path in [
            "/opt/code/User",
            "/opt/code/user-data/User",
            "/opt/code/data/user-data/User",
            "/opt/code/code-portable-data/user-data/User",
            "/x/User",
        ] {
            has(&home, path, true);
        }
    }
}
