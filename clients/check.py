"""Puts the questions through one client and compares its answers with those of `mico run`.

    python clients/check.py CLIENT URL MICO

CLIENT is the name of a module `ask_CLIENT` beside this file. Prints one line per answer, then `N passed, N failed`.
"""

import importlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from cases import BUDGET, EXAMPLES, MAX_TOKENS, QUESTIONS, messages

# How pruning is asked for, as model name, further fields of the body and flags of `mico run`.
PRUNINGS = [("tiny", None, ["--no-prune"]), (f"tiny@{BUDGET}", None, ["--budget", str(BUDGET)]),
            ("tiny", {"mico": {"budget": BUDGET}}, ["--budget", str(BUDGET)]),
            ("tiny", {"mico": {"budget": 128, "method": "visionzip"}}, ["--budget", "128", "--method", "visionzip"])]


def expected(mico, path, question, flags):
    words = [mico, "run", "--image", path, question, "--json", "--max-new-tokens", str(MAX_TOKENS), *flags]
    return json.loads(subprocess.check_output(words))["answer"]


def pictures(client, folder):
    """The files that the questions are about: those that the client sends, where it makes its own of them."""
    for name, question in QUESTIONS:
        path = EXAMPLES / name
        if hasattr(client, "encoded"):
            sent = Path(folder) / f"{path.stem}.sent"
            sent.write_bytes(client.encoded(path))
            yield path, sent, question
        else:
            yield path, path, question


def answers(client, url, asked, model, body, stream):
    if hasattr(client, "ask_all"):
        return client.ask_all(url, model, asked, MAX_TOKENS)
    return [client.ask(url, model, each, MAX_TOKENS, stream, body) for each in asked]


def check(client, url, mico):
    passed, failed = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        items = list(pictures(client, folder))
        for model, body, flags in PRUNINGS:
            if body and not client.BODY:
                continue
            right = [expected(mico, sent, question, flags) for _, sent, question in items]
            for stream in [False, True] if client.STREAMS else [False]:
                told = answers(client, url, [messages(path, question) for path, _, question in items], model, body, stream)
                for (path, _, question), answer, wanted in zip(items, told, right, strict=True):
                    same = answer.strip() == wanted.strip()
                    passed, failed = passed + same, failed + (not same)
                    how = f"{model} {json.dumps(body) if body else ''} {'streamed' if stream else 'plain'}"
                    print(f"{'ok  ' if same else 'FAIL'} {how}: {path.name} {question} {answer[:40]!r}"
                          + ("" if same else f", expected: {wanted[:40]!r}"))
    print(f"{passed} passed, {failed} failed")
    return failed == 0


if __name__ == "__main__":
    name, url, mico = sys.argv[1:]
    sys.exit(0 if check(importlib.import_module(f"ask_{name}"), url, mico) else 1)
