"""A server under mixed load for a long time: is every request answered rightly, and does memory stay flat?

    cargo build -p mico-cli
    python benchmarks/soak.py --mico target/debug/mico --minutes 30 --out soak.json

Starts `mico serve` on a free port of 127.0.0.1 and lets three kinds of clients loose on it: some that ask about pictures
(plain and streamed, unpruned and pruned in several ways, no picture twice in the same bytes), some that hang up at
different moments, some that send nonsense. Every answer is compared with that of `mico run` to the same question. At the
end nothing may run or wait, no keys and values may be reserved, no panic may have been counted, resident memory of the last
third must be within 5 % of that of the middle third, and SIGTERM must end the process with status 0. Needs only Python.
"""

import argparse
import base64
import http.client
import json
import random
import re
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
QUESTIONS = [("shapes.png", "What letter is on the purple circle?"), ("shapes.png", "What shape is red?"),
             ("shapes-2.png", "How many objects are there?"), ("shapes-3.png", "How many objects are there?")]
PRUNINGS = [{"off": True}, {"budget": 16}, {"budget": 64}, {"keep": 0.25}, {"budget": 64, "method": "divprune"},
            {"budget": 128, "method": "visionzip"}, {"budget": 200, "method": "fastv"}]
NONSENSE = ["{", "[]", '{"messages":[]}', '{"messages":[{"role":"user","content":"x"}],"temperature":9}',
            '{"messages":[{"role":"user","content":[{"type":"image_url","image_url":"data:image/png;base64,iVBORw0KGgo="}]}]}',
            '{"messages":[{"role":"user","content":"x"}],"mico":{"budget":0}}', '{"model":"none","messages":[]}']
RAW = [b"\x16\x03\x01\x02\x00\x01", b"GET / HTTP/1.1\r\nHost: loc", b"X" * 40000 + b"\r\n\r\n",
       b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"]
TIMEOUT = 120
# Some prunings make the embedded model repeat itself, which is what long answers are tried with.
MAX_TOKENS = 64
SAMPLE_EVERY = 5.0


def flags(pruning):
    if pruning.get("off"):
        return ["--no-prune"]
    return [word for key, value in pruning.items() for word in (f"--{key}", str(value))]


class Soak:
    """Shared state of all clients: what to ask, what came of it, when to end."""

    def __init__(self, mico, port, pid, seed):
        self.port, self.pid, self.seed = port, pid, seed
        self.lock, self.over = threading.Lock(), threading.Event()
        self.counts, self.failures, self.samples = {}, [], []
        self.pictures = {name: (EXAMPLES / name).read_bytes() for name, _ in QUESTIONS}
        self.expected = {}
        for which, (name, question) in enumerate(QUESTIONS):
            for how, pruning in enumerate(PRUNINGS):
                words = [mico, "run", "--image", EXAMPLES / name, question, "--json", "--max-new-tokens", str(MAX_TOKENS), *flags(pruning)]
                self.expected[which, how] = json.loads(subprocess.check_output(words))["answer"]

    def count(self, what):
        with self.lock:
            self.counts[what] = self.counts.get(what, 0) + 1

    def fail(self, why):
        with self.lock:
            self.failures.append(why)

    def body(self, rng, which, how, stream):
        name, question = QUESTIONS[which]
        # Bytes after the end of a PNG change its digest, not its pixels: the encoder cache sees a new image.
        own = rng.randbytes(8) if rng.random() < 0.5 else b""
        url = "data:image/png;base64," + base64.b64encode(self.pictures[name] + own).decode()
        content = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": question}]
        return json.dumps({"messages": [{"role": "user", "content": content}], "stream": stream, "max_tokens": MAX_TOKENS,
                           "mico": PRUNINGS[how]})

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT)

    def send(self, connection, body):
        connection.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})


def answer_of(text, stream):
    if not stream:
        return json.loads(text)["choices"][0]["message"]["content"]
    if not text.endswith("data: [DONE]\n\n"):
        raise ValueError("a stream without its end")
    chunks = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
    return "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks if chunk["choices"])


def asking(soak, rng):
    which, how, stream = rng.randrange(len(QUESTIONS)), rng.randrange(len(PRUNINGS)), rng.random() < 0.5
    connection = soak.connect()
    soak.send(connection, soak.body(rng, which, how, stream))
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    if response.status != 200:
        return soak.fail(f"status {response.status}: {text[:200]}")
    told = answer_of(text, stream)
    if told != soak.expected[which, how]:
        return soak.fail(f"{QUESTIONS[which]} {PRUNINGS[how]}: {told[:80]!r}, expected: {soak.expected[which, how][:80]!r}")
    soak.count("streamed" if stream else "plain")


def leaving(soak, rng):
    connection = soak.connect()
    soak.send(connection, soak.body(rng, rng.randrange(len(QUESTIONS)), rng.randrange(len(PRUNINGS)), rng.random() < 0.7))
    if rng.random() < 0.5:
        connection.sock.settimeout(rng.random() * 0.2)
        try:
            connection.sock.recv(rng.choice([1, 64, 4096]))
        except TimeoutError:
            pass
    connection.close()
    soak.count("hung up")


def babbling(soak, rng):
    if rng.random() < 0.5:
        with socket.create_connection(("127.0.0.1", soak.port), timeout=TIMEOUT) as stream:
            stream.sendall(rng.choice(RAW))
        return soak.count("nonsense on the wire")
    connection = soak.connect()
    soak.send(connection, rng.choice(NONSENSE))
    status = connection.getresponse().status
    connection.close()
    if status not in (400, 404):
        return soak.fail(f"nonsense got status {status}")
    soak.count("nonsense in JSON")


def client(soak, kind, number):
    rng = random.Random(f"{soak.seed} {kind.__name__} {number}")
    while not soak.over.is_set():
        try:
            kind(soak, rng)
        except (OSError, ValueError, KeyError, http.client.HTTPException) as error:
            # Nonsense may be cut off while it is still being sent.
            if kind is asking:
                soak.fail(f"{kind.__name__}: {error!r}")
        soak.over.wait(rng.random() * 0.2)


def metrics(soak):
    connection = soak.connect()
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    connection.close()
    return {name: float(value) for name, value in re.findall(r"^(mico_\w+(?:\{[^}]*\})?) (\S+)$", text, re.M)}


def resident(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1]) * 1024


def watch(soak, begun, seconds):
    while (now := time.monotonic() - begun) < seconds and not soak.over.wait(SAMPLE_EVERY):
        told = metrics(soak)
        files = len(list(Path(f"/proc/{soak.pid}/fd").iterdir()))
        soak.samples.append({"seconds": now, "resident": resident(soak.pid), "kv": told["mico_kv_bytes"],
                             "waiting": told["mico_requests_waiting"], "files": files})
    soak.over.set()


def at_rest(soak):
    """What is left once everybody has gone; requests of those who hung up may take a moment to be given up."""
    for _ in range(200):
        told = metrics(soak)
        left = {name: told[name] for name in ("mico_requests_running", "mico_requests_waiting", "mico_kv_bytes")}
        if not any(left.values()):
            break
        time.sleep(0.1)
    return {**left, **{name: value for name, value in told.items() if name.startswith("mico_panics")}}


def report(soak, seconds, rest, status):
    third = len(soak.samples) // 3
    middle, last = (statistics.median(sample["resident"] for sample in part)
                    for part in (soak.samples[third:2 * third], soak.samples[2 * third:]))
    drift = last / middle - 1
    for name, value in rest.items():
        if value:
            soak.fail(f"{name} is {value} at rest")
    if abs(drift) > 0.05:
        soak.fail(f"resident memory moved by {drift:+.1%}")
    if status != 0:
        soak.fail(f"exit status {status} after SIGTERM")
    of = lambda key: [sample[key] for sample in soak.samples]
    return {"seconds": round(seconds, 1), "requests": soak.counts, "failures": soak.failures[:50], "failed": len(soak.failures),
            "resident": {"first": of("resident")[0], "middle_third": middle, "last_third": last, "most": max(of("resident"))},
            "resident_drift": round(drift, 4), "most_kv_bytes": max(of("kv")), "most_waiting": max(of("waiting")),
            "most_open_files": max(of("files")), "last_open_files": of("files")[-1], "at_rest": rest, "exit_status": status}


def started(mico):
    server = subprocess.Popen([mico, "serve", "--port", "0", "--encoder-cache", "32MB"], stderr=subprocess.PIPE, text=True)
    for line in server.stderr:
        if found := re.search(r"listening on http://127\.0\.0\.1:(\d+)", line):
            threading.Thread(target=lambda: [None for _ in server.stderr], daemon=True).start()
            return server, int(found[1])
    sys.exit("the server did not start")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mico", required=True)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--asking", type=int, default=6, help="clients that ask and wait")
    parser.add_argument("--leaving", type=int, default=2, help="clients that hang up")
    parser.add_argument("--babbling", type=int, default=2, help="clients that send nonsense")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out")
    args = parser.parse_args()
    if not 0 < args.minutes <= 24 * 60:
        parser.error("--minutes: more than 0, at most a day")
    server, port = started(args.mico)
    try:
        soak = Soak(args.mico, port, server.pid, args.seed)
        kinds = [(asking, args.asking), (leaving, args.leaving), (babbling, args.babbling)]
        threads = [threading.Thread(target=client, args=(soak, kind, number)) for kind, count in kinds for number in range(count)]
        begun = time.monotonic()
        for thread in threads:
            thread.start()
        try:
            watch(soak, begun, args.minutes * 60)
        finally:
            soak.over.set()
        for thread in threads:
            thread.join()
        seconds, rest = time.monotonic() - begun, at_rest(soak)
        server.send_signal(signal.SIGTERM)
        told = report(soak, seconds, rest, server.wait(timeout=TIMEOUT))
    finally:
        server.kill()
    text = json.dumps({**told, "samples": soak.samples}, indent=1)
    if args.out:
        Path(args.out).write_text(text + "\n")
    print(json.dumps(told, indent=1))
    sys.exit(1 if soak.failures else 0)


if __name__ == "__main__":
    main()
