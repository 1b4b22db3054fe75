/** Valid and malformed multipart forms. */
import { request } from 'node:http';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { Answer } from './harness.ts';

/** A part of a form; with a `filename` it is a file. */
export interface Part {
  name: string;
  filename?: string;
  content: string | Uint8Array;
}

export const BOUNDARY = '----quire-test-boundary';

/** Serializes parts to a request body. */
export function encodeForm(parts: readonly Part[], boundary = BOUNDARY): Buffer {
  const pieces = parts.flatMap(({ name, filename, content }) => {
    const file = filename === undefined ? '' : `; filename="${filename}"`;
    return [`--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n`, content, '\r\n'];
  });
  return Buffer.concat([...pieces, `--${boundary}--\r\n`].map((piece) => Buffer.from(piece as string)));
}

export interface SendingForm {
  key: string | null;
  headers?: Record<string, string>;
  /** Overrides of headers; null omits the header. */
  contentType?: string | null;
  method?: string;
}

/** Sends a body, possibly streamed, and reads the response, even one that arrives before the end of the body. */
export async function sendForm(
  url: string,
  body: Uint8Array | AsyncIterable<Uint8Array>,
  { key, headers = {}, contentType = `multipart/form-data; boundary=${BOUNDARY}`, method = 'POST' }: SendingForm,
): Promise<Answer> {
  const isWhole = body instanceof Uint8Array;
  const asking = request(url, {
    method,
    headers: {
      ...(key !== null && { authorization: `Bearer ${key}` }),
      ...(contentType !== null && { 'content-type': contentType }),
      ...(isWhole && { 'content-length': body.byteLength }),
      ...headers,
    },
  });
  const source = Readable.from(isWhole ? [body] : body);
  const answered = new Promise<Answer>((resolve, reject) => {
    asking.once('error', reject);
    asking.once('response', (response) => {
      source.unpipe(asking);
      source.destroy();
      text(response).then((whole) => {
        asking.destroy();
        const isJson = response.headers['content-type']?.startsWith('application/json') ?? false;
        const pairs = Object.entries(response.headers).map(
          ([name, value]) => [name, String(value)] as [string, string],
        );
        const json = isJson ? JSON.parse(whole) : null;
        resolve({ status: response.statusCode ?? 0, headers: new Headers(pairs), text: whole, json });
      }, reject);
    });
  });
  source.on('error', () => {});
  source.pipe(asking);
  return answered;
}

/** Streams `bytes` bytes of JSON lines between the head and the end of a form. */
export async function* longForm(bytes: number, filename: string, purpose: string): AsyncGenerator<Uint8Array> {
  const [head, end] = splitForm(filename, purpose);
  yield head;
  const line = `${JSON.stringify({ text: 'All work and no play makes a long file. '.repeat(6) })}\n`;
  const piece = Buffer.from(line.repeat(Math.ceil(65_536 / line.length)));
  for (let left = bytes; left > 0; left -= piece.length) {
    yield left >= piece.length ? piece : Buffer.alloc(left, '\n');
  }
  yield end;
}

/** The bytes before and after the file content of a form. */
export function splitForm(filename: string, purpose: string): [Buffer, Buffer] {
  const mark = 'the content of the file';
  const whole = encodeForm([
    { name: 'purpose', content: purpose },
    { name: 'file', filename, content: mark },
  ]);
  const at = whole.indexOf(mark);
  return [whole.subarray(0, at), whole.subarray(at + mark.length)];
}
