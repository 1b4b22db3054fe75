/** A schema, pattern or grammar that cannot be enforced. The message is a sentence with the path. */
export class UnsupportedSchemaError extends Error {
  override readonly name = 'UnsupportedSchemaError';
  /** Dotted path of the keyword, below the path that the caller gave the schema. */
  readonly path: string;
  /** The sentence behind the path, without its full stop: `is too large to be enforced`. */
  readonly predicate: string;

  constructor(path: string, predicate: string) {
    super(`'${path}' ${predicate}.`);
    this.path = path;
    this.predicate = predicate;
  }
}
