import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import type { ApiClient, RequestOptions } from './api-client.ts';
import { runChat } from './chat.ts';
import { ChatSession } from './chat-session.ts';
import { HttpStatusError } from './client-errors.ts';

interface Sent {
  model: string;
  messages: { role: string; content: string }[];
  knowledge_bases?: string[];
}

const frame = (content: string) => `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`;

/** A chat with a scripted service. `reply` returns the body of a chat response. */
function useChat(
  reply: (request: Sent, options: RequestOptions) => string | ReadableStream<Uint8Array>,
  isTerminal = true,
) {
  const sent: Sent[] = [];
  const model = (id: string) => ({ id, capabilities: { chat_completion: true } });
  const api = {
    send: async (_method: string, _path: string, body: Sent, options: RequestOptions) => {
      sent.push(body);
      return new Response(reply(body, options));
    },
    json: async () => ({ data: [model('general-8b'), model('code-latest')] }),
    async *list() {
      yield { id: 'kb_1', name: 'Harbour' };
    },
  } as unknown as ApiClient;
  const session = new ChatSession(api, { model: 'general-8b', knowledgeBase: null, system: null });
  const input = new PassThrough();
  const output = new PassThrough();
  let written = '';
  output.setEncoding('utf8').on('data', (text: string) => {
    written += text;
  });
  const ended = runChat(session, { input, output, isTerminal });
  return { input, sent, ended, written: () => stripVTControlCharacters(written), raw: () => written };
}

/** Resolves when the condition holds: the chat runs in this process. */
async function until(condition: () => boolean): Promise<void> {
  for (let turns = 0; !condition(); turns += 1) {
    assert.ok(turns < 100_000, 'the condition does not hold');
    await setImmediate();
  }
}

describe('quire chat', () => {
  it('sends the conversation so far, and applies /model, /kb, /system and /clear', async () => {
    const { input, sent, ended, written } = useChat(
      ({ messages }) => `${frame(`Answer ${messages.length}.`)}data: [DONE]\n\n`,
    );
    const lines = [
      'One',
      'Two',
      '/model code-latest',
      '/kb Harbour',
      '/system Be brief.',
      '/clear',
      '"""Three',
      'lines"""',
      '/bye',
    ];
    input.write(lines.map((line) => `${line}\n`).join(''));
    await ended;
    assert.deepEqual(
      sent.map(({ model, messages, knowledge_bases }) => [
        model,
        messages.map(({ content }) => content),
        knowledge_bases,
      ]),
      [
        ['general-8b', ['One'], undefined],
        ['general-8b', ['One', 'Answer 1.', 'Two'], undefined],
        ['code-latest', ['Be brief.', 'Three\nlines'], ['kb_1']],
      ],
    );
    assert.match(written(), /Answer 3\./);
  });

  it('Ctrl-C stops the answer and not the program', async () => {
    const { input, sent, ended, written } = useChat(({ messages }, { signal }) => {
      if (messages.at(-1)?.content !== 'Long') return `${frame('Short.')}data: [DONE]\n\n`;
      return new ReadableStream({
        start(controller) {
          controller.enqueue(new TextEncoder().encode(frame('It begins')));
          signal?.addEventListener('abort', () => controller.error(signal.reason));
        },
      });
    });
    input.write('Long\n');
    await until(() => written().includes('It begins'));
    input.write('\x03');
    await until(() => written().includes('(stopped)'));
    input.write('Next\n');
    await until(() => written().includes('Short.'));
    input.write('\x03');
    await until(() => written().includes('/bye or Ctrl-D leaves.'));
    input.write('\x04');
    await ended;
    assert.deepEqual(
      sent.at(-1)?.messages.map(({ content }) => content),
      ['Long', 'It begins', 'Next'],
    );
  });

  it('shows errors and goes on, and suggests a name', async () => {
    const { input, ended, written } = useChat(() => {
      throw new HttpStatusError(402, 'No credits.');
    });
    input.write('Hi\n/modle\n/model genral\n/kb Harbor\n/help\n/bye\n');
    await ended;
    assert.match(written(), /402: No credits\./);
    assert.match(written(), /There is no command '\/modle'\. Did you mean '\/model'\?/);
    assert.match(written(), /There is no chat model 'genral'\. Did you mean 'general-8b'\?/);
    assert.match(written(), /There is no knowledge base 'Harbor'\. Did you mean 'Harbour'\?/);
    assert.match(written(), /\/clear +Forget the conversation\./);
  });

  it('forgets the oldest messages when the context is too short', async () => {
    const { input, sent, ended } = useChat(({ messages }) => {
      if (messages.length > 3) throw new HttpStatusError(400, 'Too long.', { code: 'context_length_exceeded' });
      return `${frame('Ok.')}data: [DONE]\n\n`;
    });
    input.write('One\nTwo\nThree\n/bye\n');
    await ended;
    assert.deepEqual(
      sent.at(-1)?.messages.map(({ content }) => content),
      ['Two', 'Ok.', 'Three'],
    );
  });

  it('prints only answers, without control codes, when the input is a pipe', async () => {
    const { input, ended, raw } = useChat(() => `${frame('Ok.')}data: [DONE]\n\n`, false);
    input.end('One\nTwo\n');
    await ended;
    assert.equal(raw(), 'Ok.\n\nOk.\n\n');
  });
});
