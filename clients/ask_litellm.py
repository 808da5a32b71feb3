"""LiteLLM, as it talks to a server of this kind."""

import litellm

STREAMS, BODY = True, True


def ask(url, model, messages, max_tokens, stream, body):
    answer = litellm.completion(model=f"hosted_vllm/{model}", api_base=url, api_key="none", messages=messages,
                                max_tokens=max_tokens, stream=stream, extra_body=body or {})
    if not stream:
        return answer.choices[0].message.content
    return "".join(chunk.choices[0].delta.content or "" for chunk in answer if chunk.choices)
