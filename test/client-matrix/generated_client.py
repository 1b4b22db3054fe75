"""Calls Quire with types generated from its API description. Prints one line for each feature: its name and `ok` or the error."""
import json
import sys
import traceback
import urllib.error
import urllib.request

base_url, api_key, folder = sys.argv[1:4]
sys.path.insert(0, folder)
import quire_types as types  # noqa: E402


def send(method, path, body=None):
    headers = {"authorization": f"Bearer {api_key}", "content-type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(base_url + path, data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def ask(model):
    request = types.ChatRequest.from_dict({"model": model, "messages": [{"role": "user", "content": "Hi"}]})
    return send("POST", "/chat/completions", request.to_dict())


def chat():
    status, body = send("GET", "/models")
    models = types.ModelList.from_dict(body)
    assert status == 200 and any(model.id == "general-8b" for model in models.data), body
    status, body = ask("stub")
    completion = types.ChatCompletion.from_dict(body)
    assert status == 200 and completion.choices[0].message.content == "Hello from the stub.", body


def errors():
    status, body = ask("gpt-17")
    error = types.ErrorResponse.from_dict(body).error
    assert (status, error.to_dict()["code"]) == (404, "model_not_found"), body


for feature in (chat, errors):
    try:
        feature()
        print(feature.__name__, "ok", flush=True)
    except Exception:  # Every failure becomes a line of the table.
        print(feature.__name__, json.dumps(traceback.format_exc()), flush=True)
