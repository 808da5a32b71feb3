"""openai-python."""

from openai import OpenAI

STREAMS, BODY = True, True


def ask(url, model, messages, max_tokens, stream, body):
    client = OpenAI(base_url=url, api_key="none", max_retries=0)
    answer = client.chat.completions.create(model=model, messages=messages, max_tokens=max_tokens, stream=stream, extra_body=body)
    if not stream:
        return answer.choices[0].message.content
    return "".join(chunk.choices[0].delta.content or "" for chunk in answer if chunk.choices)
