use super::*;
use clap::{Args as _, Command, FromArgMatches as _};

fn command() -> Command {
    ServeFlags::augment_args(Command::new("serve")).mut_args(|arg| {
        // Variables of the machine that runs the tests say nothing here.
        arg.env(clap::builder::Resettable::Reset)
    })
}

fn flags(args: &[&str]) -> Result<ServeFlags, String> {
    let args = std::iter::once("serve").chain(args.iter().copied());
    let matches = command().try_get_matches_from(args).map_err(|error| error.to_string())?;
    ServeFlags::from_arg_matches(&matches).map_err(|error| error.to_string())
}

fn config(args: &[&str]) -> Result<Config, String> {
    Config::new(&flags(args)?, "org/My Model@main", None)
}

#[test]
fn defaults_are_those_of_the_documentation() {
    let config = config(&[]).unwrap();
    assert_eq!(config.listen, Listen::Tcp("127.0.0.1:8000".parse().unwrap()));
    assert_eq!(config.names.served, ["My-Model"]);
    assert_eq!(config.check, CheckLimits::default());
    assert_eq!(config.media.limits, MediaLimits::default());
    let local = Config::local("x");
    assert_eq!(config.max_body, local.max_body);
    assert_eq!(config.body_timeout, local.body_timeout);
    assert_eq!(config.max_connections, local.max_connections);
    assert_eq!(config.request_timeout, local.request_timeout);
    assert_eq!(config.shutdown_timeout, local.shutdown_timeout);
    assert_eq!(config.stall, local.stall);
    assert!(config.playground && !config.public_metrics && config.keys.is_empty());
}

#[test]
fn beyond_this_machine_a_key_is_needed() {
    let error = config(&["--host", "0.0.0.0"]).unwrap_err();
    assert!(error.contains("--api-key"), "{error}");
    assert!(config(&["--host", "0.0.0.0", "--api-key", "k"]).is_ok());
    assert!(config(&["--host", "::", "--allow-no-auth"]).is_ok());
    assert!(config(&["--host", "::1"]).is_ok() && config(&["--host", "[::1]"]).is_ok());
}

#[test]
fn flags_out_of_range_are_named() {
    for (args, named) in [
        (vec!["--host", "no such host"], "--host"),
        (vec!["--port", "70000"], "--port"),
        (vec!["--api-key", "a b"], "API key 1"),
        (vec!["--api-key-file", "/nonexistent"], "--api-key-file"),
        (vec!["--cors-origin", "*"], "--cors-origin"),
        (vec!["--cors-origin", "https://a.example/"], "--cors-origin"),
        (vec!["--served-model-name", "a@b"], "--served-model-name"),
        (vec!["--profile", "64=budget:1"], "--profile"),
        (vec!["--profile", "x=budget:0"], "--profile"),
        (vec!["--profile", "x=method:mico"], "--profile"),
        (vec!["--profile", "x=off", "--profile", "x=off"], "--profile"),
        (vec!["--detail", "tiny=1"], "--detail"),
        (vec!["--detail", "low=0"], "--detail"),
        (vec!["--min-budget", "2", "--max-budget", "1"], "--min-budget"),
        (vec!["--max-budget", "1"], "--max-budget"),
        (vec!["--max-tokens", "0"], "--max-tokens"),
        (vec!["--allow-media-host", "*"], "--allow-media-host"),
        (vec!["--media-root", "/nonexistent"], "--media-root"),
        (vec!["--lenient", "n"], "--lenient"),
        (vec!["--max-body", "lots"], "--max-body"),
    ] {
        let error = config(&args).unwrap_err();
        assert!(error.contains(named), "{args:?}: {error}");
    }
}

#[test]
fn profiles_and_details() {
    let config = config(&[
        "--served-model-name=a,b",
        "--profile=fast=budget:64,method:divprune",
        "--profile=all=off",
        "--detail=low=16,high=none,auto=default",
    ])
    .unwrap();
    assert_eq!(config.names.served, ["a", "b"]);
    let listed: Vec<String> = config.names.listed().into_iter().map(|(name, _)| name).collect();
    assert_eq!(listed, ["a", "b", "a@all", "a@fast", "b@all", "b@fast"]);
    assert_eq!(config.names.detail.len(), 3);
}

#[test]
fn a_file_gives_what_the_command_line_leaves_open() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("serve.toml");
    let text = "port = 9000\nmax-queue = 3\nany_model = true\npublic-metrics = false\n\
                api-key = ['one', 'two']\nserved-model-name = 'a,b'\n\
                [profile.fast]\nbudget = 64\n[profile.all]\noff = true\n[detail]\nlow = 16\n";
    std::fs::write(&path, text).unwrap();
    let given = ["serve", "--port", "1"];
    let said = command().try_get_matches_from(given).unwrap();
    let merged = merged(&path, &command(), &said).unwrap();
    let all = given.into_iter().map(Into::into).chain(merged.arguments.clone());
    let matches = command().try_get_matches_from(all).unwrap();
    let config =
        Config::new(&ServeFlags::from_arg_matches(&matches).unwrap(), "tiny", None).unwrap();
    assert_eq!(config.listen, Listen::Tcp("127.0.0.1:1".parse().unwrap()));
    assert_eq!(format!("{:?}", config.keys), "2 keys");
    assert_eq!((config.names.profiles.len(), config.names.detail.len()), (2, 1));
    assert!(config.names.any_model && !config.public_metrics);
    let settings = merged.settings(&command(), &matches);
    let shown: Vec<String> = settings.iter().map(ToString::to_string).collect();
    for line in [
        "port = 1  # flag",
        "max-queue = 3  # file",
        "api-key = ***  # file",
        "host = 127.0.0.1  # default",
    ] {
        assert!(shown.iter().any(|shown| shown == line), "{line} in {shown:#?}");
    }
    assert!(!shown.join("").contains("one,two"));
}

#[test]
fn unknown_keys_and_wrong_types_in_files_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("serve.toml");
    let said = command().try_get_matches_from(["serve"]).unwrap();
    for text in
        ["prot = 1", "config = 'x'", "any-model = 'yes'", "port = [[1]]", "port = 1979-05-27", "="]
    {
        std::fs::write(&path, text).unwrap();
        let error = merged(&path, &command(), &said).unwrap_err();
        assert!(error.starts_with("--config ") && !error.contains('\n'), "{text}: {error}");
    }
}

#[cfg(unix)]
#[test]
fn a_file_of_keys_must_be_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys");
    std::fs::write(&path, "# one\nsecret-one\n").unwrap();
    let name = path.to_str().unwrap();
    for (mode, accepted) in [(0o600, true), (0o400, true), (0o640, false), (0o604, false)] {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(config(&["--api-key-file", name]).is_ok(), accepted, "{mode:o}");
    }
}
