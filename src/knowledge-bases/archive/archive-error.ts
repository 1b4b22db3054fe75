/** The bytes are no archive of a knowledge base, or a damaged one. The message is a sentence that names the part. */
export class ArchiveError extends Error {
  override readonly name = 'ArchiveError';
  /** The part, such as `source-1/documents/3`; empty for the archive itself. */
  readonly part: string;

  constructor(part: string, problem: string, cause?: unknown) {
    const subject = part === '' ? 'The archive' : `The part ${part} of the archive`;
    super(`${subject} ${problem}.`, cause === undefined ? undefined : { cause });
    this.part = part;
  }
}
