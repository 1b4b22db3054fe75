/** What the process of an encoder engine (parent) and the process of its model (host) say to each other. */
import type { ErrorFacts } from '../../../errors.ts';
import type { HostStatus } from '../runtime/host-protocol.ts';

/** What an encoder makes: one vector of a text, or one score of a query and a document. */
export type EncoderUse = 'embedding' | 'rerank';

/** What tells a file from others under its name, and from itself after a change. */
export interface FileIdentity {
  bytes: number;
  /** Milliseconds since the epoch. */
  modifiedMs: number;
}

/** What the host is to load. */
export interface EncoderLoadOptions {
  file: string;
  /** The file as it was when it was first looked at: another one under its name is refused. Null: any will do. */
  identity: FileIdentity | null;
  use: EncoderUse;
  /** Tokens of a window; null: what the model was trained on, within reason. */
  contextTokens: number | null;
  /** Threads that compute; null: one for each core. */
  threads: number | null;
  /** Memory that contexts are fitted into, where more is free. Unset or null: all that is free. */
  contextMb?: number | null | undefined;
}

/** What is known of an encoder once it is loaded. */
export interface EncoderFacts {
  /** The model's own name, as its file says it; null where it does not. */
  name: string | null;
  parameters: number;
  /** Tokens that are read at once, with those that the model adds. */
  windowTokens: number;
  /** Windows that are read side by side. */
  contexts: number;
}

/** What is asked of the model. */
export type EncoderRequest =
  /** A vector of each text, `prefix` before it. A text of more tokens than `maxTokens` is refused; null takes any. */
  | { kind: 'embed'; texts: readonly string[]; prefix: string; maxTokens: number | null }
  /** Tokens of each text, without those that the model adds. */
  | { kind: 'count'; texts: readonly string[] }
  /** A score of each document, 0 to 1. */
  | { kind: 'rerank'; query: string; documents: readonly string[] };

/** What came of a request. */
export interface EncoderResult {
  /** `embed`: the vectors, one after another. `count` and `rerank`: one number of each. */
  numbers: Float32Array | Float64Array;
  /** Tokens that were read. */
  tokens: number;
}

/** What the parent says. Messages are received in the order in which they were sent. */
export type EncoderParentMessage =
  /** First, and once. */
  | { type: 'load'; options: EncoderLoadOptions }
  | { type: 'request'; id: number; request: EncoderRequest }
  /** The caller has left: no more is wanted of it. */
  | { type: 'cancel'; id: number }
  | { type: 'ping'; id: number };

/** What the host says. `done`, `tooLong` or `failed` is the last of a request, unless its caller left before. */
export type EncoderHostMessage =
  | HostStatus<EncoderFacts>
  | { type: 'done'; id: number; result: EncoderResult }
  /** The text at `index` has too many tokens. */
  | { type: 'too-long'; id: number; index: number }
  | { type: 'failed'; id: number; error: ErrorFacts }
  /** Comes after the model is loaded. */
  | { type: 'pong'; id: number };
