/** Ollama's client, unmodified, and the requests of Open WebUI. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Ollama } from 'ollama';
import { callThenReport, MODELS, useBackends } from '../clients/backends.ts';
import { CAT, CAT_COMPLETION } from '../fixtures/cat-model.ts';
import { redirectHeaders, useHub } from '../fixtures/hub-server.ts';
import { type Service, startService } from '../spawned-service.ts';

const backends = useBackends();
const headersOf = (key: string) => ({ Authorization: `Bearer ${key}` });
const clientOf = ({ url, key }: Pick<Service, 'url' | 'key'>) => new Ollama({ host: url, headers: headersOf(key) });
const client = () => clientOf(backends.service);
const messages = [{ role: 'user', content: 'Say "hello".' }];
const weather = {
  type: 'function',
  function: {
    name: 'weather',
    description: 'Tells the temperature.',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};

describe('ollama', () => {
  it('streams the chat that is also returned whole', async () => {
    for (const model of [MODELS.bundled, `${MODELS.upstream}:latest`]) {
      const request = { model, messages, options: { temperature: 0, seed: 1, num_predict: 24 } };
      const whole = await client().chat(request);
      let text = '';
      let last = whole;
      for await (const part of await client().chat({ ...request, stream: true })) {
        text += part.message.content;
        last = part;
      }
      assert.equal(text, whole.message.content, model);
      assert.notEqual(text, '', model);
      assert.deepEqual([last.model, last.done, last.done_reason], [model, true, whole.done_reason]);
      assert.equal(last.eval_count, whole.eval_count);
      assert.ok(last.total_duration > 0 && last.prompt_eval_count > 0);
    }
  });

  it('calls a tool and answers from its result', async () => {
    backends.play(callThenReport({ city: '"Oslo"' }));
    const request = { model: MODELS.scripted, messages, tools: [weather], stream: true as const };
    const parts = await Array.fromAsync(await client().chat(request));
    const calls = parts.flatMap(({ message }) => message.tool_calls ?? []);
    assert.deepEqual(
      calls.map(({ function: { name, arguments: args } }) => [name, args]),
      [['weather', { city: '"Oslo"' }]],
    );
    const next = [
      ...messages,
      { role: 'assistant', content: '', tool_calls: calls },
      { role: 'tool', tool_name: 'weather', content: '21' },
    ];
    const answers = await Array.fromAsync(await client().chat({ ...request, messages: next }));
    assert.equal(answers.map(({ message }) => message.content).join(''), 'The tool said 21.');
  });

  it('generates, with and without a chat template, and JSON of a schema', async () => {
    const model = MODELS.bundled;
    const format = { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] };
    const { response } = await client().generate({ model, prompt: 'A number.', format, options: { num_predict: 64 } });
    assert.equal(typeof JSON.parse(response ?? '').a, 'number');
    const raw = await client().generate({ model, prompt: 'The capital of', raw: true, options: { num_predict: 4 } });
    assert.equal(raw.eval_count, 4);
  });

  it('embeds, and lists, shows and loads models', async () => {
    const embed = { model: 'embed-large-en-v1.5', input: ['one', 'two'] };
    const { embeddings } = await client().embed(embed);
    assert.deepEqual(
      embeddings.map(({ length }) => length),
      [1024, 1024],
    );
    const { embedding } = await client().embeddings({ model: embed.model, prompt: 'one' });
    assert.deepEqual(embedding, embeddings[0]);
    const { models } = await client().list();
    assert.ok(models.some(({ name }) => name === `${MODELS.bundled}:latest`));
    const { capabilities, model_info: info } = await client().show({ model: `${MODELS.bundled}:latest` });
    assert.deepEqual(capabilities, ['completion', 'tools']);
    assert.ok((info as unknown as Record<string, number>)['quire.context_length']! > 0);
    assert.ok((await client().ps()).models.length > 0);
    assert.match((await client().version()).version, /^\d+\.\d+\.\d+$/);
    const loaded = await client().generate({ model: MODELS.bundled, prompt: '' });
    assert.equal(loaded.done_reason, 'load');
  });

  it('ends a stream that is aborted, and frees the engine', async () => {
    const stream = await client().chat({ model: MODELS.bundled, messages, stream: true });
    await assert.rejects(async () => {
      for await (const _ of stream) stream.abort();
    }, /abort/i);
    assert.equal((await client().chat({ model: MODELS.bundled, messages })).done, true);
  });

  it('throws errors with the status and the message', async () => {
    const unknown = clientOf({ ...backends.service, key: 'quire-sk-unknown' });
    for (const [run, status, message] of [
      [() => client().chat({ model: 'llama3', messages }), 404, /There is no model 'llama3'/],
      [() => client().chat({ model: 'llama3', messages, stream: true }), 404, /There is no model/],
      [
        () => client().generate({ model: MODELS.bundled, prompt: 'a', template: 'b' }),
        400,
        /'template' is not supported/,
      ],
      [() => client().create({ model: 'a', from: 'b' }), 400, /cannot be created/],
      [() => client().copy({ source: 'a', destination: 'b' }), 400, /cannot be copied/],
      [() => client().push({ model: 'a' }), 400, /cannot be pushed/],
      [() => client().delete({ model: 'a' }), 400, /cannot be deleted/],
      [() => unknown.list(), 401, /unknown/],
    ] as const)
      await assert.rejects(run(), (error) => {
        const { status_code: code, error: text } = error as { status_code: number; error: string };
        assert.equal(code, status, String(error));
        assert.match(text, message);
        return true;
      });
  });
});

describe('ollama pull', () => {
  const hub = useHub();
  const RECEIVED = 1000;
  const NAME = 'hf:someone/models/cat.gguf';
  let service: Service;
  before(async () => {
    hub.files.set('/someone/models/resolve/main/cat.gguf', CAT);
    service = await startService({ env: { QUIRE_HUB_URL: hub.url } });
  });
  after(() => service?.kill());

  it('stops when it is aborted, and resumes with progress until the model answers', async () => {
    hub.acts.push((_request, response) => {
      const headers = { 'content-length': CAT.length, ...redirectHeaders(CAT) };
      response.writeHead(200, headers).write(CAT.subarray(0, RECEIVED));
      return true;
    });
    const stalled = await clientOf(service).pull({ model: NAME, stream: true });
    await assert.rejects(async () => {
      for await (const { total } of stalled) if (total) stalled.abort();
    }, /abort/i);
    hub.acts.length = 0;
    const parts = await Array.fromAsync(await clientOf(service).pull({ model: NAME, stream: true }));
    assert.deepEqual([parts[0]?.status, parts.at(-1)?.status], ['pulling manifest', 'success']);
    const { message } = await clientOf(service).chat({ model: NAME, messages, options: { temperature: 0 } });
    assert.match(message.content, new RegExp(CAT_COMPLETION.slice(0, 10)));
    assert.equal((await clientOf(service).pull({ model: NAME })).status, 'success');
    assert.ok((await clientOf(service).list()).models.some(({ name }) => name === NAME));
  });

  it('continues for the other clients when one of them is aborted', async () => {
    const file = '/someone/models/resolve/main/both.gguf';
    hub.files.set(file, CAT);
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    hub.acts.push((request, response) => {
      if (request.url !== file) return false;
      response.writeHead(200, { 'content-length': CAT.length, ...redirectHeaders(CAT) });
      response.write(CAT.subarray(0, RECEIVED));
      void released.then(() => response.end(CAT.subarray(RECEIVED)));
      return true;
    });
    const pull = { model: 'hf:someone/models/both.gguf', stream: true as const };
    const [first, second] = await Promise.all([clientOf(service).pull(pull), clientOf(service).pull(pull)]);
    await assert.rejects(async () => {
      for await (const { total } of first) if (total) first.abort();
    }, /abort/i);
    const statuses: string[] = [];
    for await (const { status, total } of second) {
      statuses.push(status);
      if (total) release();
    }
    assert.equal(statuses.at(-1), 'success');
    hub.acts.length = 0;
  });

  it('says why a model cannot be pulled', async () => {
    await assert.rejects(clientOf(service).pull({ model: 'lama3.2' }), /lama3\.2/);
    const missing = await clientOf(service).pull({ model: 'hf:someone/models/none.gguf', stream: true });
    await assert.rejects(Array.fromAsync(missing), /was not pulled/);
  });
});

/** Requests in the shapes of Open WebUI's router for Ollama. */
describe('Open WebUI', () => {
  const send = async (method: string, path: string, body?: object, headers: Record<string, string> = {}) => {
    const person = { 'X-OpenWebUI-User-Name': 'Ada', 'X-OpenWebUI-User-Role': 'admin' };
    const response = await fetch(`${backends.service.url}${path}`, {
      method,
      headers: { 'Content-Type': 'application/json', ...headersOf(backends.service.key), ...person, ...headers },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, type: response.headers.get('content-type'), text };
  };
  const model = `${MODELS.bundled}:latest`;

  it('verifies the connection and lists models by the name that it sends back', async () => {
    const { version } = JSON.parse((await send('GET', '/api/version', undefined, { Authorization: '' })).text);
    assert.ok(version.split('.').every((part: string) => /^\d+$/.test(part)));
    const { models } = JSON.parse((await send('GET', '/api/tags')).text);
    assert.ok(models.every(({ model: name }: { model: string }) => name.includes(':')));
    const { models: running } = JSON.parse((await send('GET', '/api/ps')).text);
    assert.ok(running.every(({ expires_at: at }: { expires_at: string }) => !Number.isNaN(Date.parse(at))));
    const shown = await send('POST', '/api/show', { model, name: model });
    assert.equal(shown.status, 200, shown.text);
  });

  it('streams a chat with the parameters of a model at both places where it puts them', async () => {
    const payload = {
      ...{ model, messages: [{ role: 'system', content: 'Be short.' }, ...messages], stream: true },
      ...{ options: { temperature: 0.2, num_predict: 8, repeat_penalty: 1.1, new_topic_penalty: 0.1 } },
      ...{ num_ctx: 2048, top_k: 20, mirostat: 0, keep_alive: '5m' },
    };
    const { type, text } = await send('POST', '/api/chat', payload);
    assert.match(type ?? '', /^application\/x-ndjson/);
    const parts = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.equal(parts.at(-1).done, true);
    assert.ok(parts.at(-1).eval_duration > 0 && parts.at(-1).eval_count > 0);
  });

  it('unloads a model, embeds the chunks of documents, and reports files that it cannot delete', async () => {
    const unloaded = await send('POST', '/api/generate', { model, keep_alive: 0, prompt: '' });
    assert.match(unloaded.type ?? '', /^application\/json/);
    assert.equal(JSON.parse(unloaded.text).done_reason, 'unload');
    const embedded = await send('POST', '/api/embed', { input: ['a', 'b'], model: 'embed-large-en-v1.5' });
    assert.equal(JSON.parse(embedded.text).embeddings.length, 2);
    const deleted = await send('DELETE', '/api/delete', { model, name: model });
    assert.equal(deleted.status, 400);
    assert.match(JSON.parse(deleted.text).error, /cannot be deleted here/);
  });
});
