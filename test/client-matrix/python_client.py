"""Calls Quire with the Python client of OpenAI: chat, stream, embeddings, list and an error."""
import sys

import openai

client = openai.OpenAI(base_url=sys.argv[1], api_key=sys.argv[2], max_retries=0)
messages = [{"role": "user", "content": "Hi"}]
completion = client.chat.completions.create(model="stub", messages=messages)
assert completion.choices[0].message.content == "Hello from the stub.", completion
stream = client.chat.completions.create(model="stub", messages=messages, stream=True)
assert "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices) == "Hello from the stub."
embedding = client.embeddings.create(model="embed-large-en-v1.5", input="a")
assert len(embedding.data[0].embedding) == 1024
assert any(model.id == "general-8b" for model in client.models.list())
try:
    client.chat.completions.create(model="gpt-17", messages=messages)
except openai.NotFoundError as error:
    assert error.code == "model_not_found", error
else:
    raise AssertionError("an unknown model was accepted")
