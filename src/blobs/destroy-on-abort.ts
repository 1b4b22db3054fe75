import { addAbortSignal, type Readable } from 'node:stream';

/**
 * Destroys a stream with an `AbortError` when the signal aborts. A client can disconnect before the stream has a
 * reader: without a listener, that error would end the process. A later reader still gets it.
 */
export function destroyOnAbort(stream: Readable, signal: AbortSignal): Readable {
  return addAbortSignal(
    signal,
    stream.on('error', () => {}),
  );
}
