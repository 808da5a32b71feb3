use super::*;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::sync::Mutex;

/// Answers each connection with the next of `answers`, and returns the paths that were asked for.
fn serve(answers: Vec<String>) -> (u16, std::thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || {
        let mut asked = Vec::new();
        for answer in answers {
            let (stream, _) = listener.accept().unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let first = lines.next().unwrap().unwrap();
            let mut headers = vec![first];
            headers.extend(lines.map_while(Result::ok).take_while(|line| !line.is_empty()));
            asked.push(headers.join("\n"));
            let mut stream = stream;
            // A client that has read enough hangs up.
            let _ = stream.write_all(answer.as_bytes());
        }
        asked
    });
    (port, thread)
}

fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}

fn redirect(to: &str) -> String {
    format!(
        "HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    )
}

/// Every name leads to this machine, which counts as the world.
fn open(port: u16) -> Remote {
    let pattern = format!("good.example:{port}").parse().unwrap();
    let lookup = |_: &str, port| Ok(vec![SocketAddr::from(([127, 0, 0, 1], port))]);
    let remote = Remote::new(vec![pattern], Duration::from_secs(10));
    Remote { admits: |_| true, ..remote.with_lookup(Arc::new(lookup)) }
}

#[test]
fn a_listed_host_is_fetched_with_redirects_and_without_secrets() {
    let (port, thread) = serve(vec![redirect("/b?c#d"), ok("bytes")]);
    let bytes = open(port).fetch(&format!("http://good.example:{port}/a#x"), 5).unwrap();
    assert_eq!(bytes, b"bytes");
    let asked = thread.join().unwrap();
    assert!(asked[0].starts_with("GET /a HTTP/1.1"), "{asked:?}");
    assert!(asked[1].starts_with("GET /b?c HTTP/1.1"), "{asked:?}");
    for header in asked.iter().flat_map(|request| request.lines()) {
        let lower = header.to_ascii_lowercase();
        assert!(!lower.starts_with("authorization") && !lower.starts_with("cookie"), "{header}");
    }
}

#[test]
fn too_many_bytes_redirects_and_bad_statuses() {
    let (port, thread) = serve(vec![ok("123456")]);
    let url = format!("http://good.example:{port}/");
    assert_eq!(open(port).fetch(&url, 5).unwrap_err().code, Code::ImageTooLarge);
    thread.join().unwrap();
    let (port, thread) = serve(vec![redirect("/again"); 4]);
    let url = format!("http://good.example:{port}/");
    assert_eq!(open(port).fetch(&url, 5).unwrap_err().code, Code::MediaFetchFailed);
    thread.join().unwrap();
    let (port, thread) = serve(vec!["HTTP/1.1 404 No\r\ncontent-length: 0\r\n\r\n".to_owned()]);
    let error = open(port).fetch(&format!("http://good.example:{port}/secret"), 5).unwrap_err();
    assert_eq!(error.message, "the media behind the URL could not be fetched");
    thread.join().unwrap();
}

#[test]
fn a_redirect_to_another_host_is_refused() {
    for to in ["http://127.0.0.1/", "http://evil.example/", "//evil.example/", "http://[::1]/"] {
        let (port, thread) = serve(vec![redirect(to)]);
        let error = open(port).fetch(&format!("http://good.example:{port}/"), 5).unwrap_err();
        assert_eq!(error.code, Code::HostNotAllowed, "{to}");
        thread.join().unwrap();
    }
}

#[test]
fn urls_that_parsers_read_differently_are_refused() {
    let remote = Remote::new(vec!["good.example".parse().unwrap()], Duration::from_secs(1))
        .with_lookup(Arc::new(|host, _| panic!("looked up {host}")));
    for url in [
        "http://good.example\\@127.0.0.1/",
        "http://good.example@127.0.0.1/",
        "http://127.0.0.1%2f@good.example/",
        "http://user@good.example/",
        "http://user:password@good.example/",
        "http://@good.example/",
        "http://good.exa\tmple/",
        "http://good.example/\n",
        "http:///good.example/",
        "http:good.example",
        "http:/good.example/",
        "http://good.example%00.evil/",
        "http://xn--good-.example/",
        "http://g\u{43e}od.example/",
        "http://good.example./",
        "http://good.example:22/",
        "ftp://good.example/",
        "http://",
    ] {
        let error = remote.fetch(url, 5).unwrap_err();
        assert_eq!(error.code, Code::HostNotAllowed, "{url:?}");
    }
}

#[test]
fn the_host_that_is_checked_is_the_host_that_is_looked_up() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let lookup = move |host: &str, port| {
        seen.lock().unwrap().push((host.to_owned(), port));
        Ok(vec![SocketAddr::from(([10, 0, 0, 1], port))])
    };
    let patterns = ["*.example", "1.2.3.4", "[2606::1]:99"].map(|host| host.parse().unwrap());
    let remote =
        Remote::new(patterns.to_vec(), Duration::from_secs(1)).with_lookup(Arc::new(lookup));
    for (url, host, port) in [
        ("http://A.Example/x", "a.example", 80),
        ("https://b.example:443/", "b.example", 443),
        ("http://0x01020304/", "1.2.3.4", 80),
        ("http://[2606:0::1]:99/", "2606::1", 99),
    ] {
        // The address is a local one, so the way ends there.
        assert_eq!(remote.fetch(url, 5).unwrap_err().code, Code::MediaFetchFailed, "{url}");
        assert_eq!(asked.lock().unwrap().pop().unwrap(), (host.to_owned(), port), "{url}");
    }
}

#[test]
fn one_local_address_among_global_ones_is_enough_to_refuse() {
    let lookup = |_: &str, port| {
        let global = SocketAddr::from(([93, 184, 216, 34], port));
        Ok(vec![global, SocketAddr::from(([127, 0, 0, 1], port))])
    };
    let remote = Remote::new(vec!["good.example".parse().unwrap()], Duration::from_secs(1))
        .with_lookup(Arc::new(lookup));
    let error = remote.fetch("http://good.example/", 5).unwrap_err();
    assert_eq!(error.code, Code::MediaFetchFailed);
}

#[test]
fn patterns_of_hosts() {
    let admits = |pattern: &str, host: &str, port| {
        pattern.parse::<HostPattern>().unwrap().admits(host, port)
    };
    assert!(admits("a.example", "a.example", 80) && admits("A.Example", "a.example", 443));
    assert!(!admits("a.example", "b.a.example", 80) && !admits("a.example", "a.example", 8080));
    assert!(admits("*.example", "a.example", 80) && !admits("*.example", "example", 80));
    assert!(!admits("*.example", "evilexample", 80) && !admits("*.example", ".example", 80));
    assert!(admits("a.example:8443", "a.example", 8443));
    assert!(!admits("a.example:8443", "a.example", 443));
    for bad in ["", "*", "*.", "a b", "a.example:", "a.example:x", "*.1.2.3.4", "http://a.example"]
    {
        assert!(bad.parse::<HostPattern>().is_err(), "{bad}");
    }
}
