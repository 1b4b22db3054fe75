import { describeError, OperatorError } from '../lib/operator-error.ts';
import { SseParser } from '../lib/sse-parser.ts';

/**
 * Yields the events of a stream of the API until `[DONE]`. Throws an `OperatorError` for an error frame, and when the
 * connection is lost.
 */
export async function* responseFrames<Frame extends object>(
  response: Response,
): AsyncGenerator<Frame, void, undefined> {
  const parser = new SseParser();
  for await (const bytes of readBody(response)) {
    for (const data of parser.push(bytes)) {
      if (data === '[DONE]') continue;
      const event = JSON.parse(data) as { error?: { message: string } };
      if (event.error !== undefined) throw new OperatorError(event.error.message);
      yield event as Awaited<Frame>;
    }
  }
}

async function* readBody(response: Response): AsyncGenerator<Uint8Array> {
  try {
    yield* response.body ?? [];
  } catch (error) {
    process.stdout.write('\n');
    throw new OperatorError(
      `The connection was lost during the answer: ${describeError((error as Error).cause ?? error)}`,
    );
  }
}
