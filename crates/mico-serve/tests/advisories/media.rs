//! Images, videos and the URLs they come from.

use std::net::TcpListener;
use std::time::Duration;

use mico_serve::media::remote::Remote;
use mico_serve::media::root::MediaRoot;

use crate::common::{PIXEL, Server, about, config, mock, text, with};

/// A server of this machine that nobody must ask.
fn bystander() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

fn nobody_asked(listener: &TcpListener) {
    assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}

fn fetching(hosts: &[&str]) -> mico_serve::config::Config {
    let mut config = config();
    let hosts = hosts.iter().map(|host| host.parse().unwrap()).collect();
    config.media.remote = Some(Remote::new(hosts, Duration::from_secs(5)));
    config
}

#[test]
fn advisory_01_urls_of_this_machine_are_not_fetched() {
    let (listener, port) = bystander();
    let names = ["127.0.0.1", "localhost", "[::1]", "0.0.0.0"];
    let listed: Vec<String> = names.iter().map(|name| format!("{name}:{port}")).collect();
    let listed: Vec<&str> = listed.iter().map(String::as_str).collect();
    for (config, status) in
        [(config(), 403), (fetching(&["good.example"]), 403), (fetching(&listed), 422)]
    {
        let server = Server::with(config, mock());
        for name in names {
            let reply = server.chat(&about(&format!("http://{name}:{port}/a.png")));
            assert_eq!(reply.status, status, "{name}: {}", reply.body);
            assert!(!reply.body.contains(name), "{}", reply.body);
        }
    }
    nobody_asked(&listener);
}

#[test]
fn advisory_02_urls_that_parsers_read_differently_are_refused() {
    let (listener, port) = bystander();
    let server = Server::with(fetching(&["good.example"]), mock());
    for url in [
        format!("http://good.example\\@127.0.0.1:{port}/"),
        format!("http://good.example@127.0.0.1:{port}/"),
        format!("http://127.0.0.1:{port}%2f@good.example/"),
        format!("http://127.0.0.1:{port}\t@good.example/"),
        format!("http:///127.0.0.1:{port}/"),
        "http://g\u{43e}od.example/".to_owned(),
    ] {
        assert_eq!(server.chat(&about(&url)).status, 403, "{url}");
    }
    nobody_asked(&listener);
}

#[test]
fn advisory_03_metadata_addresses_in_every_spelling_are_refused() {
    let spellings = [
        "169.254.169.254",
        "2852039166",
        "0xa9fea9fe",
        "0251.0376.0251.0376",
        "169.254.43518",
        "[::ffff:169.254.169.254]",
        "[64:ff9b::a9fe:a9fe]",
        "[2002:a9fe:a9fe::]",
    ];
    // Even where the operator lists them.
    let listed =
        ["169.254.169.254", "[::ffff:a9fe:a9fe]", "[64:ff9b::a9fe:a9fe]", "[2002:a9fe:a9fe::]"];
    let server = Server::with(fetching(&listed), mock());
    for host in spellings {
        let reply = server.chat(&about(&format!("http://{host}/latest/meta-data/")));
        assert_eq!(reply.error().0, 422, "{host}: {}", reply.body);
        assert_eq!(reply.error().1, "media_fetch_failed", "{host}");
    }
}

#[test]
fn advisory_04_urls_in_texts_are_not_looked_at() {
    let (listener, port) = bystander();
    let server = Server::with(fetching(&["localhost"]), mock());
    for words in [
        format!("![x](http://127.0.0.1:{port}/a.png)"),
        format!("http://127.0.0.1:{port}/a.png"),
        format!("<img src='http://127.0.0.1:{port}/a.png'>"),
    ] {
        assert_eq!(server.chat(&text(&words)).status, 200, "{words}");
    }
    nobody_asked(&listener);
}

#[test]
fn advisory_05_files_are_read_below_the_media_root_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (inside, outside) = (folder.path().join("inside"), folder.path().join("outside"));
    std::fs::create_dir_all(&inside).unwrap();
    std::fs::create_dir_all(&outside).unwrap();
    let picture = mico_serve::media::data_url::decode(PIXEL).unwrap();
    std::fs::write(inside.join("a.bmp"), &picture).unwrap();
    std::fs::write(outside.join("b.bmp"), &picture).unwrap();
    std::os::unix::fs::symlink(outside.join("b.bmp"), inside.join("link.bmp")).unwrap();
    std::fs::hard_link(outside.join("b.bmp"), inside.join("hard.bmp")).unwrap();
    std::fs::create_dir(inside.join("folder")).unwrap();
    rustix_fifo(&inside.join("pipe"));
    let mut config = config();
    config.media.root = Some(MediaRoot::open(&inside).unwrap());
    let server = Server::with(config, mock());
    let root = inside.canonicalize().unwrap();
    let root = root.display();
    assert_eq!(server.chat(&about(&format!("file://{root}/a.bmp"))).status, 200);
    for url in [
        "file:///etc/passwd".to_owned(),
        "/etc/passwd".to_owned(),
        "C:\\a.bmp".to_owned(),
        format!("file://host{root}/a.bmp"),
        format!("file://{root}/../outside/b.bmp"),
        format!("file://{root}/%2e%2e/outside/b.bmp"),
        format!("file://{root}/..%2foutside/b.bmp"),
        format!("file://{root}/link.bmp"),
        format!("file://{root}/hard.bmp"),
        format!("file://{root}/pipe"),
        format!("file://{root}/folder"),
        format!("file://{root}/none.bmp"),
    ] {
        let reply = server.chat(&about(&url));
        assert_eq!(reply.status, 400, "{url}: {}", reply.body);
        assert!(!reply.body.contains("outside"), "{}", reply.body);
    }
    assert_eq!(Server::start(mock()).chat(&about(&format!("file://{root}/a.bmp"))).status, 400);
}

fn rustix_fifo(path: &std::path::Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status();
    assert!(made.is_ok_and(|status| status.success()), "mkfifo");
}

/// A BMP file of one pixel that says it is larger.
pub(super) fn promising(width: u32, height: u32) -> String {
    use base64::Engine as _;
    let mut bytes = mico_serve::media::data_url::decode(PIXEL).unwrap();
    bytes[18..22].copy_from_slice(&width.to_le_bytes());
    bytes[22..26].copy_from_slice(&height.to_le_bytes());
    let coded = base64::engine::general_purpose::STANDARD.encode(bytes);
    format!("data:image/bmp;base64,{coded}")
}

#[test]
fn advisory_06_images_that_promise_too_much_are_refused_before_they_are_decoded() {
    let server = Server::start(mock());
    for (width, height) in [(40_000, 40_000), (8192, 8193), (32_769, 1)] {
        let reply = server.chat(&about(&promising(width, height)));
        assert_eq!(reply.error().1, "image_too_large", "{width}x{height}: {}", reply.body);
    }
    let url = promising(8192, 8192);
    let part = format!(r#"{{"type":"image_url","image_url":"{url}"}}"#);
    let three = vec![part; 3].join(",");
    let reply = server.chat(&format!(r#"{{"messages":[{{"role":"user","content":[{three}]}}]}}"#));
    assert_eq!(reply.error().1, "image_too_large", "{}", reply.body);
    assert!(reply.body.contains("together"), "{}", reply.body);
}

#[test]
fn advisory_08_many_frames_images_and_messages_are_refused() {
    let server = Server::start(mock());
    let frames = vec![PIXEL; 10_000].join(",");
    let clip = format!(
        r#"{{"messages":[{{"role":"user","content":[{{"type":"video_url","video_url":{{"url":"data:video/jpeg;base64,{frames}"}}}}]}}]}}"#
    );
    assert_eq!(server.chat(&clip).error().1, "image_too_large");
    let image = format!(r#"{{"type":"image_url","image_url":"data:image/bmp;base64,{PIXEL}"}}"#);
    let images = |count| {
        let parts = vec![image.clone(); count].join(",");
        server.chat(&format!(r#"{{"messages":[{{"role":"user","content":[{parts}]}}]}}"#))
    };
    assert_eq!(images(16).status, 200);
    assert_eq!(images(17).error().2.as_deref(), Some("messages[0].content[16]"));
    let messages = vec![r#"{"role":"user","content":"x"}"#; 257].join(",");
    let reply = server.chat(&format!(r#"{{"messages":[{messages}]}}"#));
    assert_eq!(reply.error().2.as_deref(), Some("messages"));
}

#[test]
fn advisory_13_tensors_are_not_taken() {
    let server = Server::start(mock());
    for field in [r#""image_embeds":"AAAA""#, r#""prompt_embeds":"AAAA""#] {
        assert_eq!(server.chat(&with(&text("x"), field)).error().1, "unsupported_parameter");
    }
    for part in ["image_embeds", "input_audio", "audio_url", "prompt_embeds"] {
        let body = format!(r#"{{"messages":[{{"role":"user","content":[{{"type":"{part}"}}]}}]}}"#);
        assert_eq!(server.chat(&body).error().1, "unsupported_content", "{part}");
    }
    let pickle = about("data:application/octet-stream;base64,gASVAAAA");
    assert_eq!(server.chat(&pickle).error().1, "image_invalid");
}
