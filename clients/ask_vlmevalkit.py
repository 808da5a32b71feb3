"""VLMEvalKit with `--base-url`. It sends JPEG, so the pictures of the questions must be JPEG files that it takes as they are
made here: see `encoded` of check.py."""

import base64
import io
import tempfile

from PIL import Image
from vlmeval.api import LMDeployAPI
from vlmeval.smp import encode_image_to_base64

STREAMS, BODY = False, True


def encoded(path):
    """The bytes that the toolkit sends for a picture."""
    return base64.b64decode(encode_image_to_base64(Image.open(path)))


def ask(url, model, messages, max_tokens, stream, body):
    toolkit = LMDeployAPI(model=model, api_base=f"{url}/chat/completions", key="none", max_tokens=max_tokens, temperature=0.0,
                          retry=1, timeout=60, verbose=False, **(body or {}))
    picture, question = messages[0]["content"]
    coded = picture["image_url"]["url"].partition(",")[2]
    with tempfile.NamedTemporaryFile(suffix=".png") as file:
        Image.open(io.BytesIO(base64.b64decode(coded))).save(file.name)
        return toolkit.generate([{"type": "image", "value": file.name}, {"type": "text", "value": question["text"]}])
