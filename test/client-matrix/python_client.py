"""Calls Quire with the Python client of OpenAI. Prints one line for each feature: its name and `ok` or the error."""
import json
import sys
import traceback

import openai

client = openai.OpenAI(base_url=sys.argv[1], api_key=sys.argv[2], max_retries=0)
MESSAGES = [{"role": "user", "content": "How warm is it in Oslo?"}]
TEXT = "Hello from the stub."
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOL = {"type": "function", "function": {"name": "weather", "parameters": PARAMETERS}}
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "temperature": {"type": "number"}},
    "required": ["city", "temperature"],
    "additionalProperties": False,
}


def chat():
    completion = client.chat.completions.create(model="stub", messages=MESSAGES)
    assert completion.choices[0].message.content == TEXT, completion
    assert any(model.id == "general-8b" for model in client.models.list())


def stream():
    chunks = client.chat.completions.create(model="stub", messages=MESSAGES, stream=True)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == TEXT
    response = client.responses.create(model="stub", input="Hi", store=False)
    assert response.output_text == TEXT, response
    events = list(client.responses.create(model="stub", input="Hi", store=False, stream=True))
    assert events[-1].type == "response.completed", events


def tools():
    message = client.chat.completions.create(model="stub", messages=MESSAGES, tools=[TOOL]).choices[0].message
    result = {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "21"}
    answer = client.chat.completions.create(model="stub", messages=[*MESSAGES, message, result], tools=[TOOL])
    assert answer.choices[0].message.content == "The tool said 21.", answer


def structured():
    response_format = {"type": "json_schema", "json_schema": {"name": "weather", "strict": True, "schema": SCHEMA}}
    answer = client.chat.completions.create(model="stub", messages=MESSAGES, response_format=response_format)
    assert json.loads(answer.choices[0].message.content) == {"city": "Oslo", "temperature": 21}, answer


def embeddings():
    response = client.embeddings.create(model="embed-large-en-v1.5", input=["a", "b"])
    assert [len(each.embedding) for each in response.data] == [1024, 1024]


def errors():
    try:
        client.chat.completions.create(model="gpt-17", messages=MESSAGES)
    except openai.NotFoundError as error:
        assert error.code == "model_not_found", error
    else:
        raise AssertionError("an unknown model was accepted")


for feature in (chat, stream, tools, structured, embeddings, errors):
    try:
        feature()
        print(feature.__name__, "ok", flush=True)
    except Exception:  # Every failure becomes a line of the table.
        print(feature.__name__, json.dumps(traceback.format_exc()), flush=True)
