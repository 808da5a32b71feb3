//! Parses what a user may give as a model: a local folder, or a repository on the hub.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::error::HubError;

/// The revision that is used if none is given.
pub const DEFAULT_REVISION: &str = "main";
/// The longest organisation, repository or revision name; the hub's own limit for the first two.
const MAX_NAME_LEN: usize = 96;
/// The length of a full git commit hash in hexadecimal digits.
const COMMIT_LEN: usize = 40;

/// The source of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelRef {
    /// A local folder that exists; nothing is downloaded.
    Folder(PathBuf),
    /// A repository on the hub, at a revision.
    Hub(HubId),
}

/// A repository on the hub at a revision. Every part is checked to be safe in a path and in a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubId {
    org: String,
    name: String,
    revision: String,
}

impl ModelRef {
    /// Parses a folder path or `org/name[@revision]`. An existing folder takes precedence over a
    /// hub id of the same spelling, and a value written like a path is never looked up on the hub.
    ///
    /// ```
    /// use mico_hub::ModelRef;
    ///
    /// let ModelRef::Hub(id) = ModelRef::parse("llava-hf/llava-1.5-7b-hf")? else { unreachable!() };
    /// assert_eq!((id.repo().as_str(), id.revision()), ("llava-hf/llava-1.5-7b-hf", "main"));
    /// assert!(ModelRef::parse("./no/such/folder").is_err());
    /// # Ok::<(), mico_hub::HubError>(())
    /// ```
    pub fn parse(value: &str) -> Result<Self, HubError> {
        let path = Path::new(value);
        if path.is_dir() {
            return Ok(Self::Folder(path.to_path_buf()));
        }
        let not_a_folder = |found| Err(HubError::NotAFolder { value: value.to_owned(), found });
        if path.exists() {
            return not_a_folder("a file, not a folder");
        }
        if looks_like_path(value) {
            return not_a_folder("no such folder");
        }
        HubId::parse(value)
            .map(Self::Hub)
            .map_err(|reason| HubError::InvalidId { value: value.to_owned(), reason })
    }
}

fn looks_like_path(value: &str) -> bool {
    let before_revision = value.split('@').next().unwrap_or(value);
    value.starts_with(['.', '/', '~'])
        || value.contains('\\')
        || before_revision.matches('/').count() > 1
}

impl HubId {
    fn parse(value: &str) -> Result<Self, String> {
        let (repo, revision) = value.split_once('@').unwrap_or((value, DEFAULT_REVISION));
        let (org, name) =
            repo.split_once('/').ok_or("a hub id needs an organisation and a name")?;
        check_repo_part("organisation", org)?;
        check_repo_part("name", name)?;
        check_revision(revision)?;
        Ok(Self { org: org.to_owned(), name: name.to_owned(), revision: revision.to_owned() })
    }

    /// The repository's id, `org/name`, without the revision.
    pub fn repo(&self) -> String {
        format!("{}/{}", self.org, self.name)
    }

    /// The branch, tag or commit hash; `main` if none was given.
    pub fn revision(&self) -> &str {
        &self.revision
    }

    /// The repository's folder name in the cache, `models--org--name`.
    pub(crate) fn folder(&self) -> String {
        format!("models--{}--{}", self.org, self.name)
    }

    /// The revision escaped as one path segment of a URL.
    pub(crate) fn revision_segment(&self) -> String {
        self.revision.replace('/', "%2F").replace('+', "%2B")
    }
}

impl fmt::Display for HubId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}@{}", self.org, self.name, self.revision)
    }
}

/// Whether `text` is a full commit hash.
pub(crate) fn is_commit(text: &str) -> bool {
    text.len() == COMMIT_LEN && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Checks the hub's naming rules. A double dash would make two repositories share a cache folder.
fn check_repo_part(what: &str, part: &str) -> Result<(), String> {
    check_name(what, part, "._-")?;
    if part.contains("..") || part.contains("--") {
        return Err(format!("{what} `{part}` contains `..` or `--`"));
    }
    if part.starts_with('-') || part.ends_with(['.', '-']) {
        return Err(format!("{what} `{part}` starts or ends with `.` or `-`"));
    }
    Ok(())
}

/// Checks a revision. A branch such as `refs/pr/3` has slashes, and each part must be a plain file name.
fn check_revision(revision: &str) -> Result<(), String> {
    if revision.len() > MAX_NAME_LEN {
        return Err(format!("revision is longer than {MAX_NAME_LEN} characters"));
    }
    revision.split('/').try_for_each(|part| {
        check_name("revision", part, "._-+")?;
        if part.contains("..") { Err("revision contains `..`".to_owned()) } else { Ok(()) }
    })
}

fn check_name(what: &str, part: &str, punctuation: &str) -> Result<(), String> {
    if part.is_empty() {
        return Err(format!("empty {what}"));
    }
    if part.len() > MAX_NAME_LEN {
        return Err(format!("{what} is longer than {MAX_NAME_LEN} characters"));
    }
    if let Some(odd) =
        part.chars().find(|c| !c.is_ascii_alphanumeric() && !punctuation.contains(*c))
    {
        return Err(format!("{what} contains {odd:?}"));
    }
    if part.starts_with('.') {
        return Err(format!("{what} `{part}` starts with `.`"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hub(value: &str) -> HubId {
        match ModelRef::parse(value) {
            Ok(ModelRef::Hub(id)) => id,
            other => panic!("{value}: {other:?}"),
        }
    }

    #[test]
    fn hub_ids_split_into_parts() {
        let id = hub("llava-hf/llava-v1.6-mistral-7b-hf");
        assert_eq!(id.to_string(), "llava-hf/llava-v1.6-mistral-7b-hf@main");
        assert_eq!(id.folder(), "models--llava-hf--llava-v1.6-mistral-7b-hf");
        let id = hub("a_b/c.d@refs/pr/3");
        assert_eq!((id.repo().as_str(), id.revision()), ("a_b/c.d", "refs/pr/3"));
        assert_eq!(id.revision_segment(), "refs%2Fpr%2F3");
        assert_eq!(hub("a/b@v1.0+cpu").revision_segment(), "v1.0%2Bcpu");
    }

    #[test]
    fn paths_get_the_path_error() {
        for value in ["./x", "../x", ".", "/no/such", "~/m", "a/b/c", "a\\b", "../../etc/passwd"] {
            if Path::new(value).is_dir() {
                continue;
            }
            let error = ModelRef::parse(value).unwrap_err();
            assert!(matches!(error, HubError::NotAFolder { .. }), "{value}: {error}");
            assert!(error.to_string().contains(value));
        }
    }

    #[test]
    fn malformed_ids_are_refused_with_a_reason() {
        for (value, reason) in [
            ("", "organisation and a name"),
            ("tiny2", "organisation and a name"),
            ("a/", "empty name"),
            ("a/b@", "empty revision"),
            ("a/b@../x", "starts with"),
            ("a/b@x//y", "empty revision"),
            ("a/b@x..y", "`..`"),
            ("a/b@@c", "'@'"),
            ("a/..", "starts with"),
            ("a/b..c", "`..`"),
            ("a--b/c", "`--`"),
            ("a/-b", "starts or ends"),
            ("a/b.", "starts or ends"),
            ("a/b?x=1", "'?'"),
            ("a/b c", "' '"),
            ("a/b\n", "'\\n'"),
            ("a/b%2e", "'%'"),
            ("a/é", "'é'"),
            ("a:8080/b", "':'"),
        ] {
            let error = ModelRef::parse(value).unwrap_err();
            let text = error.to_string();
            assert!(matches!(error, HubError::InvalidId { .. }), "{value:?}: {text}");
            assert!(text.contains(reason), "{value:?}: {text}");
        }
        assert!(ModelRef::parse(&format!("a/{}", "b".repeat(97))).is_err());
        assert!(ModelRef::parse(&format!("a/b@{}", "c/".repeat(60))).is_err());
    }
}
