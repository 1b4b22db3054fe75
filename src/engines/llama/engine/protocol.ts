/** What the process of the engine (parent) and the process of the model (host) say to each other. */
import type { ErrorFacts } from '../../../errors.ts';
import type { CacheUsage, GenerationEvent } from '../../engine.ts';
import type { Calibration } from '../calibration/calibration.ts';
import type { TemplateOverride } from '../prompt/chat-template.ts';
import type { HostStatus } from '../runtime/host-protocol.ts';
import type { ConstrainedRequest } from './tool-constraint.ts';

/** Events that the host sends ahead of what the parent's caller has read, for each request: bounds the parent's memory. */
export const WINDOW_EVENTS = 512;

/** What the host is to load. */
export interface LoadOptions {
  file: string;
  /** Null: what the model was trained on. */
  contextTokens: number | null;
  /** Null: as many as are worthwhile and there is memory for. */
  slots: number | null;
  /** Null: the fastest number. */
  threads: number | null;
  /** File that keeps what was measured of models on this machine. Unset: nothing is measured, and defaults hold. */
  calibrationFile?: string | undefined;
  /** Replaces the chat template of the file. */
  template?: TemplateOverride | undefined;
  /** Where computed prompts are saved, and how many bytes of them. Unset: they are not. */
  diskCache?: { folder: string; bytes: number } | undefined;
  /** Memory that contexts are fitted into, where more is free. Unset or null: all that is free. */
  contextMb?: number | null | undefined;
  /** Milliseconds without concurrent requests after which slots are freed. Unset: the default. For tests. */
  slotIdleMs?: number | undefined;
}

/** What is known of a model once it is loaded. */
export interface ModelFacts {
  contextTokens: number;
  parameters: number;
  /** Whether the chat template renders documents. */
  documents: boolean;
  suffix: boolean;
  calibration: Calibration;
  /** `kept`: measured at an earlier start. `none`: defaults. */
  calibrationFrom: 'measured' | 'kept' | 'none';
}

/** What the parent says. Messages are received in the order in which they were sent. */
export type ParentMessage =
  /** First, and once. */
  | { type: 'load'; options: LoadOptions }
  | { type: 'generate'; id: number; request: ConstrainedRequest }
  /** The caller has left: no more is wanted of it. */
  | { type: 'cancel'; id: number }
  /** The caller has read that many more events. */
  | { type: 'consumed'; id: number; events: number }
  | { type: 'ping'; id: number }
  /** Last: it saves what is worth it, and ends. */
  | { type: 'close' };

/** What the host says. `done` or `failed` is the last of a request, unless its caller left before. */
export type HostMessage =
  | HostStatus<ModelFacts>
  /** What one step gave, for all requests at once. */
  | { type: 'events'; batch: { id: number; events: GenerationEvent[] }[] }
  | { type: 'done'; id: number }
  | { type: 'failed'; id: number; error: ErrorFacts }
  /** What the prefix cache holds, whenever that has changed; `evictions` counts from the start of the host. */
  | { type: 'cache'; usage: CacheUsage }
  /** Something is lost that nobody waits for. For the operator. */
  | { type: 'warning'; what: string; error: string }
  /** Answers computed now, and requests that wait. Comes after the model is loaded. */
  | { type: 'pong'; id: number; running: number; waiting: number; slots: number };
