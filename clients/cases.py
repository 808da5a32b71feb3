"""The questions that every client puts, and their form in messages of the OpenAI API."""

import base64
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
QUESTIONS = [("shapes.png", "What letter is on the purple circle?"), ("shapes.png", "What shape is red?"),
             ("shapes-2.png", "How many objects are there?"), ("shapes-3.png", "What color is the circle?")]
BUDGET = 64
MAX_TOKENS = 32


def messages(picture, question):
    url = "data:image/png;base64," + base64.b64encode(Path(picture).read_bytes()).decode()
    return [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}},
                                         {"type": "text", "text": question}]}]
