/** IPC messages between the engine (parent) and the process of the model (host). */
import type { ErrorFacts } from '../../../errors.ts';
import type { CacheUsage, GenerationEvent } from '../../engine.ts';
import type { Calibration } from '../calibration/calibration.ts';
import type { TemplateOverride } from '../prompt/chat-template.ts';
import type { HostStatus } from '../runtime/host-protocol.ts';
import type { ConstrainedRequest } from './tool-constraint.ts';

/** Maximum number of unread events per request: bounds the memory of the parent. */
export const WINDOW_EVENTS = 512;

/** Options of the host. */
export interface LoadOptions {
  file: string;
  /** Null: the length of the training. */
  contextTokens: number | null;
  /** Maximum number of slots. Null: as many as are useful and fit into memory. */
  slots: number | null;
  /** Null: by calibration. */
  threads: number | null;
  /** File with stored measurements. Unset: no calibration, defaults apply. */
  calibrationFile?: string | undefined;
  /** Replaces the chat template of the file. */
  template?: TemplateOverride | undefined;
  /** Folder and size limit of the KV disk cache. Unset: none. */
  diskCache?: { folder: string; bytes: number } | undefined;
  /** Memory for contexts, where more is free. Unset or null: all free memory. */
  contextMb?: number | null | undefined;
  /** Milliseconds without concurrent requests after which slots are freed. Unset: the default. For tests. */
  slotIdleMs?: number | undefined;
}

/** Description of a loaded model. */
export interface ModelFacts {
  contextTokens: number;
  parameters: number;
  /** Whether the chat template renders documents. */
  documents: boolean;
  suffix: boolean;
  /** Tokens of `SAMPLE_PROMPTS`; empty: the chat template cannot render them. */
  sampleTokens: readonly number[];
  calibration: Calibration;
  /** `stored`: measured at an earlier start. `none`: defaults. */
  calibrationFrom: 'measured' | 'stored' | 'none';
}

/** Messages of the parent, received in the order in which they were sent. */
export type ParentMessage =
  /** First, and once. */
  | { type: 'load'; options: LoadOptions }
  | { type: 'generate'; id: number; request: ConstrainedRequest }
  /** The caller disconnected. */
  | { type: 'cancel'; id: number }
  /** The caller has read that many more events. */
  | { type: 'consumed'; id: number; events: number }
  | { type: 'ping'; id: number }
  /** Last: the host writes snapshots and exits. */
  | { type: 'close' };

/** Messages of the host. `done` or `failed` is the last one of a request, unless it was cancelled. */
export type HostMessage =
  | HostStatus<ModelFacts>
  /** The events of one step, of all requests. */
  | { type: 'events'; batch: { id: number; events: GenerationEvent[] }[] }
  | { type: 'done'; id: number }
  | { type: 'failed'; id: number; error: ErrorFacts }
  /** Statistics of the prefix cache, after they changed. `evictions` counts from the start of the host. */
  | { type: 'cache'; usage: CacheUsage }
  /** An event for the operator's log that affects no request. */
  | { type: 'warning'; what: string; error: string }
  /** Current load. Sent after the model is loaded. */
  | { type: 'pong'; id: number; running: number; waiting: number; slots: number };
