import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AWKWARD_TEXTS } from '../../../test/support/awkward.ts';
import { MAX_RECORDED_CHARACTERS, REDACTION_MARGIN } from '../../lib/recorded-answer.ts';
import { TimedThread } from '../../lib/timed-thread.ts';
import { createRedactor, DETECTORS, isCardNumber, isIban } from './redact.ts';
import type { RedactedContents, Redaction } from './redaction-thread.ts';
import { truncatePrompt } from './truncate-prompt.ts';

const redact = createRedactor({ detectors: DETECTORS, patterns: [] });

describe('the redactor', () => {
  it('replaces each kind of detail, also in a sentence and twice', () => {
    const cases: Record<string, string> = {
      'Mail ada.lovelace+x@example.co.uk, bob@müller.de.': 'Mail [email], [email].',
      '"nick@example.com"\nnick@example.com': '"[email]"\n[email]',
      'Card 4111 1111 1111 1111 5500000000000004, 3782-822463-10005!': 'Card [card] [card], [card]!',
      'IBAN DE89 3704 0044 0532 0130 00 and GB82WEST12345698765432.': 'IBAN [iban] and [iban].',
      'AB12 text DE89370400440532013000': 'AB12 text [iban]',
      'Call +49 30 901820, 030 / 1234 5678 or (555) 123-4567.': 'Call [phone], [phone] or [phone].',
      'Key sk-abcdefghijklmnop1234 AKIAIOSFODNN7EXAMPLE': 'Key [api_key] [api_key]',
      'Authorization: Bearer abcdefghijklmnop.qrst==': 'Authorization: [api_key]',
      'a -----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY----- b': 'a [api_key] b',
      '-----BEGIN RSA PRIVATE KEY-----\nMIIE': '[api_key]',
    };
    for (const [text, expected] of Object.entries(cases)) assert.equal(redact(text), expected, text);
  });

  it('leaves what only looks like a detail', () => {
    const others = [
      ...['4111 1111 1111 1112', '12345678901234567890', 'DE88370400440532013000', 'sk-short', 'a @ b.de'],
      ...['2024-01-15 10:00:00', 'version 1.2.3.4', '1,234,567.89', 'order 8812-0042', 'me@localhost'],
      ...AWKWARD_TEXTS,
    ];
    for (const text of others) assert.equal(redact(text), text);
    assert.equal(isCardNumber('4111111111111111'), true);
    assert.equal(isCardNumber('411111111111'), false);
    assert.equal(isCardNumber('0000000000000000'), false);
    assert.equal(isIban('gb82west12345698765432'), true);
    assert.equal(isIban('GB82WEST1234569876543'), false);
  });

  it('replaces only selected detectors and non-empty matches of custom patterns', () => {
    const own = createRedactor({ detectors: ['phone'], patterns: ['acme-\\d+', 'x*', '\\p{Lu}{3}'] });
    assert.equal(own('acme-42 ABC xx a@b.de'), '[redacted] [redacted] [redacted] a@b.de');
  });

  it('takes linear time for any text', () => {
    for (const part of ['a', '1', '1 ', 'a.', '+1', 'DE12 ', 'a@', '-----BEGIN PRIVATE KEY-----', 'eyJaaaaaaaa.', '(0'])
      redact(part.repeat(MAX_RECORDED_CHARACTERS / part.length));
  });
});

describe('the redaction of contents', () => {
  const run = (redaction: Omit<Redaction, 'detectors'>, limitMs = 60_000) =>
    new TimedThread<Redaction, RedactedContents[]>(new URL('./redaction-thread.ts', import.meta.url), limitMs).run(
      'a',
      {
        detectors: DETECTORS,
        ...redaction,
      },
    );
  const prompt = async (body: unknown) => {
    const bounded = truncatePrompt(body);
    const [redacted] = (await run({ patterns: [], contents: [{ prompt: bounded, answer: [] }] })) ?? [];
    return { json: JSON.parse(redacted?.prompt ?? ''), isTruncated: bounded.isTruncated };
  };

  it('redacts texts, keys and numbers of a body, drops credentials of MCP servers, and changes nothing else', async () => {
    const server = { type: 'mcp', server_url: 'https://a.example', authorization: 'secret', headers: { a: 'b' } };
    const body = {
      input: ['a@b.de', 1, null, true],
      'a@b.de': { deep: 'b@c.de\n' },
      tools: [server],
      texts: AWKWARD_TEXTS,
    };
    const { json, isTruncated } = await prompt(body);
    const tools = [{ type: 'mcp', server_url: 'https://a.example' }];
    const servers = { mcp_servers: [{ type: 'url', url: 'https://a.example', authorization_token: 'secret' }] };
    const { mcp_servers: kept } = (await prompt(servers)).json;
    assert.deepEqual(kept, [{ type: 'url', url: 'https://a.example' }]);
    const expected = {
      input: ['[email]', 1, null, true],
      '[email]': { deep: '[email]\n' },
      tools,
      texts: AWKWARD_TEXTS,
    };
    assert.deepEqual([json, isTruncated], [expected, false]);
    assert.deepEqual((await prompt({ card: 4111111111111111, n: 42 })).json, { card: '[card]', n: 42 });
  });

  it('cuts the longest texts to the limit, after their redaction', async () => {
    const limit = MAX_RECORDED_CHARACTERS;
    const whole = await prompt({ input: 'x '.repeat(limit / 2) });
    assert.deepEqual([whole.json.input.length, whole.isTruncated], [limit, false]);
    const long = await prompt({ short: 'short', input: 'x y'.repeat(limit) });
    assert.equal(long.json.short, 'short');
    assert.deepEqual([long.json.input.length, long.isTruncated], [limit - 5 + 1, true]);
    // The address begins before the cut and ends after it.
    const address = `${'y '.repeat((limit + REDACTION_MARGIN) / 2 - 6)}ada@example.com ${'z '.repeat(limit)}`;
    assert.doesNotMatch((await prompt({ input: address })).json.input, /ada|[@]/);
  });

  it('replaces files by their size, and keeps the end of arrays of very many values', async () => {
    const { json } = await prompt({ image: `data:image/png;base64,${'iVBOR'.repeat(1_000)}` });
    assert.equal(json.image, '[file of 5022 characters]');
    const many = await prompt({ input: Array.from({ length: 100_000 }, (_, index) => index) });
    assert.deepEqual([many.json.input.at(-1), many.json.input.length, many.isTruncated], [99_999, 1_024, true]);
    const wide = Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`field ${index}`, 1]));
    assert.deepEqual(await prompt(wide), { json: null, isTruncated: true });
  });

  it('ends patterns that backtrack without an end, and goes on', async () => {
    const thread = new TimedThread<Redaction, RedactedContents[]>(
      new URL('./redaction-thread.ts', import.meta.url),
      2_000,
    );
    const answer = [{ type: 'text', call: 0, choice: 0, text: `${'a'.repeat(60)}!` }] as const;
    const contents = [{ prompt: null, answer }];
    const slow = thread.run('a', { detectors: [], patterns: ['(a|a)*$'], contents });
    const other = thread.run('b', { detectors: [], patterns: ['a+'], contents });
    assert.equal(await slow, null);
    assert.deepEqual(JSON.parse((await other)?.[0]?.answer ?? ''), [{ ...answer[0], text: '[redacted]!' }]);
  });
});
