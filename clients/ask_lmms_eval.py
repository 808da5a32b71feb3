"""lmms-eval's model `openai`: the budget can only be in the model's name, and answers are never streamed."""

import base64
import io

from PIL import Image

from lmms_eval.api.instance import Instance
from lmms_eval.models.chat.openai import OpenAICompatible

STREAMS, BODY = False, False


def ask_all(url, model, asked, max_tokens):
    """All questions together, two at a time, as an evaluation puts them."""
    evaluated = OpenAICompatible(model_version=model, base_url=url, api_key="none", num_concurrent=2, max_retries=1)
    evaluated.task_dict = {"shapes": {"test": asked}}
    options = {"max_new_tokens": max_tokens, "temperature": 0, "do_sample": False}
    requests = [Instance(request_type="generate_until", arguments=("", as_lmms, options, number, "shapes", "test"), idx=0,
                         metadata={"task": "shapes", "doc_id": number, "repeats": 1}) for number in range(len(asked))]
    return [getattr(answer, "text", answer) for answer in evaluated.generate_until(requests)]


def as_lmms(messages):
    def part(part):
        if part["type"] == "text":
            return part
        coded = part["image_url"]["url"].partition(",")[2]
        return {"type": "image", "url": Image.open(io.BytesIO(base64.b64decode(coded))).convert("RGB")}
    return [{"role": message["role"], "content": [part(each) for each in message["content"]]} for message in messages]
