import type { Client, Submittable } from 'pg';

/** Chunks of copied rows, and the protocol calls of the driver for COPY, which its types do not cover. */
interface CopyConnection {
  stream: NodeJS.ReadableStream & NodeJS.WritableStream & { writableNeedDrain: boolean };
  query(text: string): void;
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
  sendCopyFail(reason: string): void;
}

/** What the driver calls on a submitted COPY statement. */
abstract class CopyStatement implements Submittable {
  readonly #text: string;
  readonly #done = Promise.withResolvers<void>();
  readonly done = this.#done.promise;

  constructor(text: string) {
    this.#text = text;
    // `copyRows` awaits `done` later than the failure may occur.
    this.done.catch(() => {});
  }

  submit(connection: unknown): void {
    (connection as CopyConnection).query(this.#text);
  }

  handleError(error: Error): void {
    this.#done.reject(error);
  }

  handleReadyForQuery(): void {
    this.#done.resolve();
  }

  handleCommandComplete(): void {}
  handleRowDescription(): void {}
  handleDataRow(): void {}
  handleEmptyQuery(): void {}
}

class CopyIn extends CopyStatement {
  readonly #ready = Promise.withResolvers<CopyConnection>();
  readonly ready = this.#ready.promise;

  handleCopyInResponse(connection: CopyConnection): void {
    this.#ready.resolve(connection);
  }

  override handleError(error: Error): void {
    this.ready.catch(() => {});
    this.#ready.reject(error);
    super.handleError(error);
  }
}

class CopyOut extends CopyStatement {
  readonly #onChunk: (chunk: Buffer, connection: CopyConnection) => void;

  constructor(text: string, onChunk: (chunk: Buffer, connection: CopyConnection) => void) {
    super(text);
    this.#onChunk = onChunk;
  }

  handleCopyData({ chunk }: { chunk: Buffer }, connection: CopyConnection): void {
    this.#onChunk(chunk, connection);
  }
}

/** The two statements of a copy. */
export interface CopyStatements {
  /** `COPY ... TO STDOUT` */
  from: string;
  /** `COPY ... FROM STDIN` */
  to: string;
}

/**
 * Streams rows from one server to another. Memory is bounded by the socket buffers and the largest row. The driver has
 * no COPY: this uses its protocol layer, as `pg-copy-streams` does. After an error, both connections must be closed.
 */
export async function copyRows(
  source: Client,
  target: Client,
  statements: CopyStatements,
  onBytes: (bytes: number) => void,
): Promise<void> {
  const copyIn = target.query(new CopyIn(statements.to));
  const writer = await copyIn.ready;
  const copyOut = source.query(
    new CopyOut(statements.from, (chunk, reader) => {
      writer.sendCopyFromChunk(chunk);
      onBytes(chunk.byteLength);
      if (!writer.stream.writableNeedDrain) return;
      reader.stream.pause();
      writer.stream.once('drain', () => reader.stream.resume());
    }),
  );
  try {
    // The target ends first only with an error.
    await Promise.race([copyOut.done, copyIn.done]);
  } catch (error) {
    writer.sendCopyFail('the source failed');
    throw error;
  }
  writer.endCopyFrom();
  await copyIn.done;
}
