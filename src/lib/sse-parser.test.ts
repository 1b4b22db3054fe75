import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SseParser } from './sse-parser.ts';

/** Parses `text` in chunks of `size` bytes. */
function parse(text: string | Buffer, size = Number.POSITIVE_INFINITY): string[] {
  const bytes = Buffer.from(text);
  const parser = new SseParser();
  const events: string[] = [];
  for (let at = 0; at < bytes.length; at += size) events.push(...parser.push(bytes.subarray(at, at + size)));
  return [...events, ...parser.end()];
}

const CASES: [name: string, stream: string, events: string[]][] = [
  ['one event', 'data: {"a":1}\n\n', ['{"a":1}']],
  ['no space after the colon, and only one is taken', 'data:x\n\ndata:  y\n\n', ['x', ' y']],
  ['CRLF', 'data: x\r\n\r\ndata: y\r\n\r\n', ['x', 'y']],
  ['CR alone', 'data: x\r\rdata: y\r\r', ['x', 'y']],
  ['line ends mixed', 'data: x\r\n\ndata: y\n\r\ndata: z\r\n\r', ['x', 'y', 'z']],
  ['several data lines are joined by line feeds', 'data: x\ndata: y\ndata\ndata:\n\n', ['x\ny\n\n']],
  [
    'comments, event, id, retry and unknown fields are passed over',
    ': ping\nevent: e\nid: 1\nretry: 2\ndatax: 1\nfoo\ndata: x\n\n',
    ['x'],
  ],
  ['comments alone make no event', ': ping\n\n: ping\n\n', []],
  ['an empty data line is an event', 'data\n\ndata:\n\n', ['', '']],
  ['blank lines between events are nothing', '\n\n\ndata: x\n\n\n\ndata: y\n\n', ['x', 'y']],
  ['a byte order mark at the start is no part of the field', '\ufeffdata: x\n\ndata: \ufeffy\n\n', ['x', '\ufeffy']],
  ['characters of two to four bytes', 'data: é€😀\n\ndata: 日本語\n\n', ['é€😀', '日本語']],
  ['the end without a blank line gives the last event', 'data: x\n\ndata: [DONE]\n', ['x', '[DONE]']],
  ['the end without a line end gives the last event', 'data: x\n\ndata: [DONE]', ['x', '[DONE]']],
  ['a short line that begins like data', 'dat\nda\nd\ndata: x\n\n', ['x']],
];

describe('SseParser', () => {
  for (const [name, stream, events] of CASES) {
    it(`${name}, wherever the bytes are cut`, () => {
      for (const size of [Number.POSITIVE_INFINITY, 1, 2, 3, 5, 7]) assert.deepEqual(parse(stream, size), events);
    });
  }

  it('replaces invalid UTF-8', () => {
    const stream = Buffer.concat([Buffer.from('data: a'), Buffer.from([0xff]), Buffer.from('b\n\ndata: c\n\n')]);
    assert.deepEqual(parse(stream), ['a\ufffdb', 'c']);
  });

  it('accepts Uint8Array', () => {
    assert.deepEqual(new SseParser().push(new TextEncoder().encode('data: x\n\n')), ['x']);
  });

  it('parses a line of megabytes in many chunks as one event', () => {
    const text = 'x'.repeat(3_000_000);
    assert.deepEqual(parse(`data: ${text}\n\n`, 1000), [text]);
  });

  it('rejects incomplete events above the limit, in one line or many', () => {
    const refused = (stream: string) =>
      assert.throws(() => new SseParser(100).push(Buffer.from(stream)), /max buffer size/);
    refused(`data: ${'x'.repeat(200)}`);
    refused('data: 123456789\n'.repeat(20));
    refused(`: ${'x'.repeat(200)}`);
    assert.equal(new SseParser(100).push(Buffer.from('data: 123456789\n\n'.repeat(200))).length, 200);
  });
});
