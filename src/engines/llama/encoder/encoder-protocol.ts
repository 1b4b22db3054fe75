/** IPC messages between an encoder engine (parent) and the process of its model (host). */
import type { ErrorFacts } from '../../../errors.ts';
import type { HostStatus } from '../runtime/host-protocol.ts';

/** Output of an encoder: a vector per text, or a score per pair of query and document. */
export type EncoderUse = 'embedding' | 'rerank';

/** Identifies a version of a file. */
export interface FileIdentity {
  bytes: number;
  /** Milliseconds since the epoch. */
  modifiedMs: number;
}

/** Options of the host. */
export interface EncoderLoadOptions {
  file: string;
  /** Identity of the file at its first load; a changed file is rejected. Null: every version is accepted. */
  identity: FileIdentity | null;
  use: EncoderUse;
  /** Tokens per window; null: that of the training, up to a default. */
  contextTokens: number | null;
  /** Compute threads; null: one per core. */
  threads: number | null;
  /** Memory for contexts, where more is free. Unset or null: all free memory. */
  contextMb?: number | null | undefined;
}

/** Description of a loaded encoder. */
export interface EncoderFacts {
  /** Name in the file's metadata; null when it has none. */
  name: string | null;
  parameters: number;
  /** Tokens per window, with special tokens. */
  windowTokens: number;
  /** Windows computed in parallel. */
  contexts: number;
}

/** A request. */
export type EncoderRequest =
  /**
   * One vector per text, with `prefix` before it. Texts of more than `maxTokens` tokens are rejected; null: no limit.
   */
  | { kind: 'embed'; texts: readonly string[]; prefix: string; maxTokens: number | null }
  /** The number of tokens of each text, without special tokens. */
  | { kind: 'count'; texts: readonly string[] }
  /** A score per document, 0 to 1. */
  | { kind: 'rerank'; query: string; documents: readonly string[] };

/** Result of a request. */
export interface EncoderResult {
  /** `embed`: the concatenated vectors. `count` and `rerank`: one number per text. */
  numbers: Float32Array | Float64Array;
  /** Computed tokens. */
  tokens: number;
  /** Time in the queue, in milliseconds. */
  queueMs: number;
}

/** Messages of the parent, received in the order in which they were sent. */
export type EncoderParentMessage =
  /** First, and once. */
  | { type: 'load'; options: EncoderLoadOptions }
  /** `scope`: the organization. */
  | { type: 'request'; id: number; scope: string; request: EncoderRequest }
  /** The caller disconnected. */
  | { type: 'cancel'; id: number }
  | { type: 'ping'; id: number };

/** Messages of the host. `done`, `too-long` or `failed` is the last one of a request, unless it was cancelled. */
export type EncoderHostMessage =
  | HostStatus<EncoderFacts>
  | { type: 'done'; id: number; result: EncoderResult }
  /** The text at `index` has too many tokens. */
  | { type: 'too-long'; id: number; index: number }
  | { type: 'failed'; id: number; error: ErrorFacts }
  /** Sent after the model is loaded. */
  | { type: 'pong'; id: number };
