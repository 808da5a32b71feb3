"""LangChain."""

from langchain_openai import ChatOpenAI

STREAMS, BODY = True, True


def ask(url, model, messages, max_tokens, stream, body):
    chat = ChatOpenAI(model=model, base_url=url, api_key="none", max_tokens=max_tokens, max_retries=0, extra_body=body)
    if not stream:
        return chat.invoke(messages).content
    return "".join(chunk.content for chunk in chat.stream(messages))
