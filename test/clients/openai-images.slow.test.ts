import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import OpenAI from 'openai';
import { batchLine, createBatchOf, readResults, waitForBatch } from '../batches.ts';
import { type Handler, sendJson, startServer } from '../fixtures/upstream-server.ts';
import { startService, useEmbeddedDatabases } from '../spawned-service.ts';

useEmbeddedDatabases();

const SECRET = 'iVBORthisImageIsSecret';
const URL_OF_IMAGE = `data:image/png;base64,${SECRET}`;
const IMAGE = { type: 'image_url' as const, image_url: { url: URL_OF_IMAGE, detail: 'low' as const } };

/** Reads one image; quotes the image of another question in its error. */
const see: Handler = ({ body }, response) => {
  const text = JSON.stringify(body?.['messages']);
  if (text.includes('broken')) return sendJson(response, 400, { error: { message: `cannot decode ${URL_OF_IMAGE}.` } });
  if (text.includes('crash')) return sendJson(response, 500, { error: { message: `cannot decode ${URL_OF_IMAGE}.` } });
  const message = { role: 'assistant', content: text.includes(URL_OF_IMAGE) ? 'A cat.' : 'Nothing.' };
  const usage = { prompt_tokens: 300, completion_tokens: 2, total_tokens: 302 };
  sendJson(response, 200, {
    id: 'x',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    usage,
  });
};

describe('openai: images of a model on a server with the capability vision', () => {
  it('are read in chat, in responses and in lines of batches, and are in no log', async () => {
    const server = await startServer(see);
    const config = [
      'log_level: trace',
      'models:',
      `  general-8b: {base_urls: ['${server.baseUrl}'], upstream_model: m, capabilities: [vision]}`,
    ];
    const service = await startService({ config: config.join('\n') });
    try {
      const client = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: service.key, maxRetries: 0 });
      const model = 'general-8b';
      const content = (text: string) => [{ type: 'text' as const, text }, IMAGE];
      const messages = (text: string) => [{ role: 'user' as const, content: content(text) }];
      const answer = await client.chat.completions.create({ model, messages: messages('What is it?') });
      assert.equal(answer.choices[0]?.message.content, 'A cat.');
      const input = [{ type: 'input_image' as const, image_url: URL_OF_IMAGE, detail: 'low' as const }];
      const response = await client.responses.create({ model, input: [{ role: 'user', content: input }] });
      assert.equal(response.output_text, 'A cat.');
      await assert.rejects(client.chat.completions.create({ model, messages: messages('crash') }), { status: 503 });
      const failed = client.chat.completions.create({ model, messages: messages('broken') });
      await assert.rejects(
        failed,
        (error) => error instanceof OpenAI.BadRequestError && !error.message.includes(SECRET),
      );

      const line = (id: string, body: object) => batchLine(id, '/v1/chat/completions', body);
      const batch = await createBatchOf(service, [
        line('sees', { model, messages: messages('What is it?') }),
        line('reads text only', { model: 'general-70b', messages: messages('What is it?') }),
        line('broken', { model, messages: messages('broken') }),
      ]);
      const ended = await waitForBatch(service, batch.id);
      const [seen] = await readResults(service, ended.output_file_id);
      assert.equal(seen.response.body.choices[0].message.content, 'A cat.');
      const errors = await readResults(service, ended.error_file_id);
      const params = errors.map(({ response: { body } }) => body.error.param);
      assert.deepEqual(params.toSorted(), ['messages.0.content.1', null]);
      assert.ok(!JSON.stringify(errors).includes(SECRET));

      assert.deepEqual(await service.stop(), { code: 0, signal: null });
      const logged = service.stdout() + service.stderr();
      assert.match(logged, /cannot decode \[data URL\]/);
      assert.ok(!logged.includes(SECRET), 'a log has the image');
    } finally {
      await service.kill();
      await server.close();
    }
  });
});
