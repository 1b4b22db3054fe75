/** Port of generation engines. Every implementation passes `test/engine-conformance.ts`. */

/** A chat message in OpenAI's format, which chat templates use as well. */
export interface ChatMessage {
  role: 'system' | 'user' | 'assistant' | 'tool';
  /** Null only with `tool_calls`. */
  content: string | null;
  tool_calls?: ToolCall[];
  /** On `tool` messages: id of the tool call. */
  tool_call_id?: string;
  name?: string;
  /** On `user` messages for engines of models with the capability `vision`, by ascending `at`. */
  images?: readonly PromptImage[];
}

/** An image in a message. */
export interface PromptImage {
  /** Offset in `content` before which the image stands, in UTF-16 code units. */
  at: number;
  /** A data URL, or the address from which the model's server fetches the image. */
  url: string;
  /** Resolution, as OpenAI names it. */
  detail?: string;
}

/** A tool call of the model. `arguments` is JSON text. */
export interface ToolCall {
  id: string;
  type: 'function';
  function: { name: string; arguments: string };
}

/** A function that the model may call. `parameters` is a JSON schema of an object; absent means no arguments. */
export interface FunctionTool {
  type: 'function';
  function: { name: string; description?: string; parameters?: Record<string, unknown>; strict?: boolean | null };
}

/** Tool choice of the request; a named function is reduced to its name. */
export type ToolChoice = 'auto' | 'none' | 'required' | { name: string };

/** A chat prompt. */
export interface ChatPrompt {
  kind: 'chat';
  messages: readonly ChatMessage[];
  tools: readonly FunctionTool[];
  toolChoice: ToolChoice;
  /** False: at most one tool call per choice. */
  parallelToolCalls: boolean;
  /** Documents to answer from, best first. Given only to engines whose `documentMode` is `native` or `selective`. */
  documents?: readonly PromptDocument[];
}

/** A document in a prompt: text of a caller, never parsed for control tokens. */
export interface PromptDocument {
  title: string;
  text: string;
  /** Unix seconds at which the document was last changed; absent: unknown. */
  modifiedAt?: number;
  /** The text is the answer to the question: it was computed over the rows of a table. */
  isComputed?: boolean;
  /** Score of the search, 0 to 1; absent: unknown. */
  score?: number;
}

/**
 * How an engine takes the documents of a request:
 * - `rendered`: not at all; the caller renders them into the messages.
 * - `native`: as `documents`, which the chat template renders; they count as prompt tokens.
 * - `selective`: as `documents`, however many; the engine selects the text that it reads.
 * - `ignored`: the engine answers this prompt without documents in any form.
 */
export type DocumentMode = 'rendered' | 'native' | 'selective' | 'ignored';

/** A text to continue, without a chat template. With a suffix: fill-in-the-middle. */
export interface TextPrompt {
  kind: 'text';
  text: string;
  suffix: string | null;
}

/** Sampling parameters. Temperature 0 is greedy and deterministic. */
export interface Sampling {
  /** 0 to 2; null: `features().defaultTemperature` of the engine. */
  temperature: number | null;
  /** Above 0, at most 1. */
  topP: number;
  /** -2 to 2: subtracted from the logits of tokens that the completion contains. */
  presencePenalty: number;
  /** -2 to 2: subtracted once per occurrence of the token in the completion. */
  frequencyPenalty: number;
  /** The same seed, prompt and parameters give the same completion; null: random. */
  seed: number | null;
  /** Token id of the model's tokenizer to -100..100, added to its logit. */
  logitBias: Readonly<Record<string, number>>;
}

/**
 * Output format, enforced during decoding. Upstream servers enforce at most the JSON formats; an engine throws 400 for
 * a format that it cannot enforce.
 */
export type OutputFormat =
  | { type: 'text' }
  /** Any JSON object. */
  | { type: 'json_object' }
  /** `path`: path of the schema in a chat request; default `response_format.json_schema.schema`. */
  | { type: 'json_schema'; name: string; strict: boolean; schema: Record<string, unknown>; path?: string }
  | TextConstraint;

/** A decoding constraint on the whole completion, as plain text. */
export type TextConstraint =
  /** One of these texts. */
  | { type: 'choice'; choices: readonly string[] }
  /** A text that the ECMAScript regular expression matches completely. */
  | { type: 'regex'; pattern: string }
  /** A text of a GBNF grammar with the start rule `root`. Cannot be combined with tools. */
  | { type: 'grammar'; grammar: string };

/** One call of a generation model. */
export interface GenerationRequest {
  prompt: ChatPrompt | TextPrompt;
  /** Number of choices, 1 to 16. */
  choices: number;
  /** Maximum tokens per choice; null: the rest of the context. */
  maxTokens: number | null;
  /** Up to 4 stop sequences. A choice ends before the first one. */
  stop: readonly string[];
  sampling: Sampling;
  format: OutputFormat;
  /** Number of alternatives per token, 0 to 20; null: no log probabilities. */
  logprobs: number | null;
  /** Whether to return log probabilities of the prompt. Requires `features().promptLogprobs`. */
  promptLogprobs: boolean;
  /** Parameters for upstream servers by name, sent as they are; other engines ignore them. Absent: none. */
  upstreamParameters?: Readonly<Record<string, unknown>>;
  /** Whether the caller streams; false allows an engine to return the completion at once. */
  incremental: boolean;
  /** The organization: queues are shared fairly among scopes. Cached prompts are invisible to other scopes. */
  scope: string;
  /** Narrower scope of the prefix cache: organization and model id. Absent: `scope`. */
  cacheScope?: string;
  /** Batch work waits while interactive work is queued. */
  priority: 'interactive' | 'batch';
}

/** What a chat template and a server make a prompt of. */
export type TemplateInput = { prompt: ChatPrompt } & Pick<GenerationRequest, 'format' | 'upstreamParameters'>;

/** A token with its natural-log probability, and the most likely alternatives in descending order. */
export interface TokenLogprob {
  token: string;
  logprob: number;
  /** UTF-8 bytes of the token. */
  bytes: number[] | null;
  top: { token: string; logprob: number; bytes: number[] | null }[];
}

/** A prompt token. The first one has no log probability. */
export type PromptToken = Omit<TokenLogprob, 'logprob'> & { logprob: number | null };

/** Why a choice ended: end of sequence or stop sequence, token or context limit, tool calls, content filter. */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

/** Token usage counted by the engine. `cachedTokens`: prompt tokens from the prefix cache. */
export interface GenerationUsage {
  promptTokens: number;
  cachedTokens: number;
  completionTokens: number;
  /** Completion tokens that were reasoning. Absent: the sum of the reasoning deltas. */
  reasoningTokens?: number;
  /** Further counts of an upstream, by the names of OpenAI's API. Absent: none were reported. */
  promptDetails?: TokenDetails<typeof PROMPT_DETAILS>;
  completionDetails?: TokenDetails<typeof COMPLETION_DETAILS>;
}

/** Counts that only some upstreams report: parts of the prompt, and of the completion. */
export const PROMPT_DETAILS = ['audio_tokens', 'text_tokens', 'image_tokens', 'cache_write_tokens'] as const;
/** Parts of a completion. */
export const COMPLETION_DETAILS = [
  'accepted_prediction_tokens',
  'rejected_prediction_tokens',
  'audio_tokens',
  'text_tokens',
] as const;

/** Counts by name. */
export type TokenDetails<Names extends readonly string[]> = { [Name in Names[number]]?: number };

/**
 * Events of a generation, in order: `prompt-end` once; per choice any number of deltas and `choice-end` once; `usage`
 * once at the end.
 * Deltas of choices may interleave. Deltas are not empty and end at character boundaries.
 */
export type GenerationEvent =
  /**
   * The prompt has been processed. `cachedTokens` is null for upstreams that report it only at the end.
   * `promptLogprobs`: tokens of the prompt, if requested.
   */
  | {
      type: 'prompt-end';
      promptTokens: number | null;
      cachedTokens: number | null;
      promptLogprobs?: PromptToken[];
      /** Time in the queue of the engine, in milliseconds. Absent: unknown, as for upstreams. */
      queueMs?: number;
    }
  /** `tokens`: number of tokens of this text, if known; billed when the caller disconnects. */
  | { type: 'text-delta'; choice: number; text: string; tokens: number; logprobs?: TokenLogprob[] }
  /** Reasoning, not part of the answer. */
  | { type: 'reasoning-delta'; choice: number; text: string; tokens: number }
  /** The first delta of an `index` has `id` and `name`; `arguments` are concatenated. */
  | {
      type: 'tool-call-delta';
      choice: number;
      index: number;
      id?: string;
      name?: string;
      arguments: string;
      tokens: number;
    }
  /** `stopSequence`: the stop sequence that ended the choice, if the engine knows it. */
  | { type: 'choice-end'; choice: number; reason: FinishReason; stopSequence?: string }
  | { type: 'usage'; usage: GenerationUsage };

/** The backend of a model id, as the model object shows it. */
export interface Backend {
  engine: 'bundled' | 'local' | 'upstream';
  /** Name of the model at the runtime. */
  model: string;
  /** Number of parameters; null if unknown. */
  parameters: number | null;
  ready: boolean;
}

/** Contents and evictions of a prefix cache. */
export interface CacheUsage {
  /** Estimated memory of the cached prefixes in bytes, without disk space. */
  bytes: number;
  /** Distinct cached prefixes. */
  entries: number;
  /** Evictions since the engine was created; never decreases. */
  evictions: number;
}

/** Optional features of a generation engine. */
export interface GenerationFeatures {
  /** Fill-in-the-middle tokens, for text prompts with a suffix. */
  suffix: boolean;
  /** Log probabilities of text prompts. */
  promptLogprobs: boolean;
  /** Temperature of requests that name none. Absent: 1. */
  defaultTemperature?: number;
  /** Upper bound of the tokens that the chat template adds to the texts of a request. Absent, or null: not known. */
  templateTokens?(request: TemplateInput): number | null;
  /** Tokens of `SAMPLE_PROMPTS`, of which `templateTokens` is computed. Absent: not counted. */
  sampleTokens?: readonly number[];
  /** How the engine takes documents with this prompt and format. Absent: `rendered`. */
  documentMode?(prompt: ChatPrompt, format: OutputFormat): DocumentMode;
}

/**
 * A runtime that is a generation model with one model.
 *
 * Errors are `ApiError`s: 400 `context_length_exceeded` (param `messages` or `prompt`), 400 `invalid_value` for what
 * this engine cannot enforce, 503 `engine_unavailable`. An aborted signal ends `generate` by throwing its reason and
 * frees what the call held within one step; not consuming the iterator to its end does the same through `return()`.
 */
export interface GenerationEngine {
  /** Returns the last known state, without I/O. */
  backend(): Backend;
  /** Context length in tokens; null while unknown. */
  contextLength(): number | null;
  features(): GenerationFeatures;
  /** Last reported cache usage, without I/O. Null: the cache is on another server, or nothing was reported yet. */
  cacheUsage(): CacheUsage | null;
  generate(request: GenerationRequest, signal: AbortSignal): AsyncGenerator<GenerationEvent, void, undefined>;
  /**
   * Counts the tokens of a prompt as `generate` reports them, without computing any. Null: not known without a
   * generation. `scope`: the organization, for the queue. Throws as `generate` does.
   */
  countTokens?(prompt: ChatPrompt, scope: string, signal: AbortSignal): Promise<number | null>;
  /** Health check: resolves when the engine responds. Throws an Error with a message for operators otherwise. */
  check(signal: AbortSignal): Promise<void>;
  /** Upstreams only: whether the server enforces JSON schemas. Sends a short generation; throws if it is rejected. */
  enforcesSchemas?(signal: AbortSignal): Promise<boolean>;
  /** Engines on this machine only: the current load. Loads no model. Throws like `check`. */
  load?(signal: AbortSignal): Promise<EngineLoad>;
  /** Engines in a process of their own only: its id; null while there is none. */
  readonly hostPid?: number | null | undefined;
  /** Upstreams only: the servers of the model, without I/O. */
  servers?(): ServerState[];
  /** Upstreams only: counts since the engine was created, all 0 with one server. */
  affinity?(): AffinityCounts;
  /** Engines in a process of their own only: starts to load the model unless it is loaded. */
  loadModel?(): void;
  /** The same: frees the memory of the model until the next request. Returns false while requests run. */
  unloadModel?(): boolean | Promise<boolean>;
  /** Ends running generations with 503 and frees the runtime. Idempotent. */
  close(): Promise<void>;
}

/**
 * Prompts by how the prefix affinity of several servers placed them: the prefix was new, went to the server that has
 * it, or moved because that server was ejected or had too many requests.
 */
export type AffinityCounts = Record<'first' | 'hit' | 'moved', number>;

/** State of one server of an upstream. */
export interface ServerState {
  /** Scheme, host and port: no credentials. */
  url: string;
  /** False while the server is ejected after a failure. */
  isHealthy: boolean;
  inFlight: number;
  /** The last failure; `at`: Unix milliseconds. */
  lastError: { message: string; at: number } | null;
}

/** Current load of an engine. */
export interface EngineLoad {
  /** Completions that are being computed. */
  running: number;
  /** Requests that wait for a slot. */
  waiting: number;
  /** KV-cache slots that are allocated. */
  slots: number;
}
