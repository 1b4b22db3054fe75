import { setTimeout as delay } from 'node:timers/promises';
import { type SeenRequest, sendEvents, sendJson, startServer, type TestServer } from '../fixtures/upstream-server.ts';

const chunk = (delta: object, more: object = {}) => ({ choices: [{ index: 0, delta, ...more }] });
const finish = (reason: string) => chunk({}, { finish_reason: reason });
const usage = (prompt: number, completion: number, cached = 0) => ({
  choices: [],
  usage: { prompt_tokens: prompt, completion_tokens: completion, prompt_tokens_details: { cached_tokens: cached } },
});
const logprob = (token: string, probability: number, other: string) => ({
  token,
  logprob: Math.log(probability),
  bytes: null,
  top_logprobs: [
    { token, logprob: Math.log(probability), bytes: null },
    { token: other, logprob: Math.log(0.02), bytes: null },
  ],
});

/** Model output that tries to run scripts, and the Markdown that must render. */
export const MARKDOWN_ANSWER = `# Harbour fees

Berths cost **24 euros** per *night*, see \`fees.md\`.

| Length | Price |
|---|---|
| 10 m | 24 |

1. First
2. Second
   - nested

> A quote

\`\`\`js
const price = 24; // <script>
\`\`\`

[site](https://example.com/fees) [bad](javascript:alert(1)) <img src=x onerror=alert(1)> ![p](https://evil.example/p.png)
`;

/** A sentence of a document, which the model repeats when a search finds it. */
export const CITED_SENTENCE = 'A mooring for the winter costs 310 euros, and ends in April.';

/** Streams the answer that the last user message asks for. */
export function startPlaygroundUpstream(): Promise<TestServer> {
  return startServer(async (request, response) => {
    const text = lastText(request);
    if (text.includes('reject')) {
      sendJson(response, 400, { error: { message: 'the model says no', type: 'invalid_request_error' } });
      return;
    }
    for (const event of answer(text, request)) {
      if (event === 'cut') {
        await delay(300);
        response.destroy();
        return;
      }
      if (event === 'hang') return;
      sendEvents(response, [event]);
      // Slow enough for a rate in tokens per second.
      await delay(text.includes('markdown') ? 12 : 4);
    }
    sendEvents(response, ['[DONE]']);
    response.end();
  });
}

function lastText({ body }: SeenRequest): string {
  const messages = (body?.['messages'] ?? []) as { role: string; content: string | { text?: string }[] | null }[];
  const last = messages.at(-1);
  if (Array.isArray(last?.content)) return last.content.map(({ text = 'an image: ' }) => text).join('');
  return last?.role === 'tool' ? `result ${last.content}` : String(last?.content ?? '');
}

/** Whether a chat wants a title. */
const isTitle = ({ body }: SeenRequest): boolean => {
  const [first] = (body?.['messages'] ?? []) as { role: string; content: string | null }[];
  return first?.role === 'system' && String(first.content).startsWith('Write a title');
};

function answer(text: string, request: SeenRequest): unknown[] {
  const { body } = request;
  const role = chunk({ role: 'assistant', content: '' });
  // Without a title the first words stay.
  if (isTitle(request))
    return [role, chunk({ content: text.includes('a title') ? 'By the model' : '' }), finish('stop'), usage(40, 3)];
  if (text.startsWith('result') && text.includes(CITED_SENTENCE))
    return [role, chunk({ content: `By the manual: ${CITED_SENTENCE}` }), finish('stop'), usage(40, 12)];
  if (text.startsWith('result'))
    return [role, chunk({ content: `The tool said: ${text.slice(7)}` }), finish('stop'), usage(40, 8)];
  if (text.includes('search')) return [role, ...searchCall(), finish('tool_calls'), usage(30, 12)];
  if (text.includes('long')) {
    const lines = Array.from({ length: 600 }, (_, line) => chunk({ content: `line ${line}\n\n` }));
    return [role, ...lines, finish('stop'), usage(9, 600)];
  }
  if (text.includes('weather')) return [role, ...toolCall(), finish('tool_calls'), usage(30, 12)];
  if (text.includes('hang')) return [role, chunk({ content: 'Partial answer' }), 'hang'];
  if (text.includes('cut')) return [role, chunk({ content: 'Half an answer' }), 'cut'];
  if (text.includes('think'))
    return [
      role,
      chunk({ reasoning_content: 'I think first.' }),
      chunk({ content: 'Done.' }),
      finish('stop'),
      usage(9, 4),
    ];
  if (body?.['logprobs'] === true) return [role, ...probable(), finish('stop'), usage(9, 3)];
  if (text.includes('markdown')) {
    const parts = MARKDOWN_ANSWER.match(/.{1,7}/gs) ?? [];
    return [role, ...parts.map((content) => chunk({ content })), finish('stop'), usage(100, parts.length, 64)];
  }
  return [role, chunk({ content: `You said: ${text}` }), finish('stop'), usage(12, 5)];
}

function toolCall(): object[] {
  const call = (fields: object) => chunk({ tool_calls: [{ index: 0, ...fields }] });
  return [
    call({ id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"<img src=x ' } }),
    call({ function: { arguments: 'onerror=alert(1)>"}' } }),
  ];
}

/** The search of knowledge bases, which the service runs. */
const searchCall = (): object[] => [
  chunk({
    tool_calls: [
      {
        index: 0,
        id: 'call_2',
        type: 'function',
        function: { name: 'file_search', arguments: '{"query":"berth price"}' },
      },
    ],
  }),
];

function probable(): object[] {
  const tokens = [logprob('It', 0.99, 'The'), logprob(' is', 0.6, ' was'), logprob(' fine', 0.1, ' good')];
  return tokens.map((one) => chunk({ content: one.token }, { logprobs: { content: [one] } }));
}
