/**
 * The ports of the engines: what a model runtime does for Quire, whichever runtime it is.
 * Every implementation passes `test/engine-conformance.ts`.
 */

/** A message of a chat, in the shape of the wire, which is also the shape that chat templates take. */
export interface ChatMessage {
  role: 'system' | 'user' | 'assistant' | 'tool';
  /** Null only beside `tool_calls`. */
  content: string | null;
  tool_calls?: ToolCall[];
  /** On `tool` messages: the call that is answered. */
  tool_call_id?: string;
  name?: string;
}

/** A call of a function, as the model made it. `arguments` is JSON text. */
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

/** Whether and which function is to be called: as the wire has it, the named form reduced to the name. */
export type ToolChoice = 'auto' | 'none' | 'required' | { name: string };

/** A chat to answer. */
export interface ChatPrompt {
  kind: 'chat';
  messages: readonly ChatMessage[];
  tools: readonly FunctionTool[];
  toolChoice: ToolChoice;
  /** False: at most one call in an answer. */
  parallelToolCalls: boolean;
  /** Documents to answer from, best first. Given only to engines whose `documentMode` is `native` or `selective`. */
  documents?: readonly PromptDocument[];
}

/** A document in a prompt: text of a caller, never parsed for control tokens. */
export interface PromptDocument {
  title: string;
  text: string;
}

/**
 * How an engine takes the documents of a request:
 * - `rendered`: not at all; the caller renders them into the messages.
 * - `native`: as `documents`, which the chat template renders; they count as prompt tokens.
 * - `selective`: as `documents`, however many; the engine selects the text that it reads.
 * - `ignored`: the engine answers this prompt without documents in any form.
 */
export type DocumentMode = 'rendered' | 'native' | 'selective' | 'ignored';

/** A text to continue, without a chat template. With a suffix, the text between the two is asked for. */
export interface TextPrompt {
  kind: 'text';
  text: string;
  suffix: string | null;
}

/** How the next token is chosen. Temperature 0 is greedy: the same text every time. */
export interface Sampling {
  /** 0 to 2. */
  temperature: number;
  /** Above 0, at most 1. */
  topP: number;
  /** -2 to 2: subtracted from the logit of every token that the answer already has. */
  presencePenalty: number;
  /** -2 to 2: subtracted once for each time that the answer already has the token. */
  frequencyPenalty: number;
  /** The same seed, prompt and parameters give the same text; null draws a new one. */
  seed: number | null;
  /** Token id (of the model's own tokenizer) to -100..100, added to its logit. */
  logitBias: Readonly<Record<string, number>>;
}

/**
 * The form that the answer must have, enforced at token level. Upstream servers enforce the JSON forms at most; an engine
 * throws 400 for a form that it cannot enforce.
 */
export type OutputFormat =
  | { type: 'text' }
  /** Any JSON object. */
  | { type: 'json_object' }
  | { type: 'json_schema'; name: string; strict: boolean; schema: Record<string, unknown> }
  | TextConstraint;

/** A decoding constraint on the whole answer, as plain text. */
export type TextConstraint =
  /** One of these texts. */
  | { type: 'choice'; choices: readonly string[] }
  /** A text that the regular expression (ECMAScript) matches from beginning to end. */
  | { type: 'regex'; pattern: string }
  /** A text of the language of a GBNF grammar, whose start rule is `root`. Cannot be combined with tools. */
  | { type: 'grammar'; grammar: string };

/** One call of a generation model. */
export interface GenerationRequest {
  prompt: ChatPrompt | TextPrompt;
  /** Answers to the one prompt, 1 to 16. */
  choices: number;
  /** Tokens of each answer at most; null: what the context leaves. */
  maxTokens: number | null;
  /** At most 4 texts; an answer ends before the first of them, which it does not contain. */
  stop: readonly string[];
  sampling: Sampling;
  format: OutputFormat;
  /** Null: none. Otherwise each token comes with its log probability and that many alternatives, 0 to 20. */
  logprobs: number | null;
  /** Whether the tokens of the prompt are to come with theirs, too. Only where `features().promptLogprobs`. */
  promptLogprobs: boolean;
  /** Whether the caller wants the deltas as they are made; false leaves an engine free to answer in one piece. */
  incremental: boolean;
  /** What is cached for one scope (an organization) is seen by no other. */
  scope: string;
  /** Batch work waits while interactive work is there. */
  priority: 'interactive' | 'batch';
}

/** One token with its natural-log probability, and the likeliest alternatives in descending order. */
export interface TokenLogprob {
  token: string;
  logprob: number;
  /** The token's UTF-8 bytes. */
  bytes: number[] | null;
  top: { token: string; logprob: number; bytes: number[] | null }[];
}

/** A token of a prompt. The first of a text has no log probability: nothing comes before it. */
export type PromptToken = Omit<TokenLogprob, 'logprob'> & { logprob: number | null };

/** Why an answer ended: by itself or at a stop text, at `maxTokens` or the context's end, for a tool, or filtered. */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

/** Tokens as the engine counted them. `cachedTokens` is the part of `promptTokens` that was found computed. */
export interface GenerationUsage {
  promptTokens: number;
  cachedTokens: number;
  completionTokens: number;
}

/**
 * What a generation tells, in this order: `prompt-end` once; then for each choice any deltas and `choice-end` once;
 * then `usage` once, last. Deltas of several choices may be mixed. No delta is empty, no text ends within a character.
 */
export type GenerationEvent =
  /**
   * The prompt is processed; null where the engine does not know yet (an upstream that counts at the end).
   * `promptLogprobs` has the tokens that spell the prompt, where they were asked for.
   */
  | {
      type: 'prompt-end';
      promptTokens: number | null;
      cachedTokens: number | null;
      promptLogprobs?: PromptToken[];
    }
  /** `tokens` is how many tokens made this text, as far as is known: what is billed when the caller leaves early. */
  | { type: 'text-delta'; choice: number; text: string; tokens: number; logprobs?: TokenLogprob[] }
  /** Thinking that is not part of the answer. */
  | { type: 'reasoning-delta'; choice: number; text: string; tokens: number }
  /** The first delta of an `index` has `id` and `name`; the arguments are the deltas' texts, joined. */
  | {
      type: 'tool-call-delta';
      choice: number;
      index: number;
      id?: string;
      name?: string;
      arguments: string;
      tokens: number;
    }
  | { type: 'choice-end'; choice: number; reason: FinishReason }
  | { type: 'usage'; usage: GenerationUsage };

/** What answers behind a model id, as the model object shows it. */
export interface Backend {
  engine: 'bundled' | 'local' | 'upstream';
  /** The runtime's own name of the model. */
  model: string;
  /** Number of parameters; null where it is not known. */
  parameters: number | null;
  ready: boolean;
}

/** What an engine's prefix cache holds now, and what it has let go. */
export interface CacheUsage {
  /** Bytes of memory that the cached prefixes take, as an estimate; what lies on a disk is not counted. */
  bytes: number;
  /** Distinct prefixes that are kept. */
  entries: number;
  /** Prefixes that made room for others since the engine was made: never less than before. */
  evictions: number;
}

/** What an engine can be asked for beyond plain text. */
export interface GenerationFeatures {
  /** Has fill-in-the-middle tokens, so that a text prompt may have a suffix. */
  suffix: boolean;
  /** Can say how likely the tokens of a text prompt were. */
  promptLogprobs: boolean;
  /** How the engine takes documents with this prompt and format. Absent: `rendered`. */
  documentMode?(prompt: ChatPrompt, format: OutputFormat): DocumentMode;
}

/**
 * A runtime that generates text with one model.
 *
 * Errors are `ApiError`s: 400 `context_length_exceeded` (param `messages` or `prompt`), 400 `invalid_value` for what
 * this engine cannot enforce, 503 `engine_unavailable`. An aborted signal ends `generate` by throwing its reason and
 * frees what the call held within one step; not consuming the iterator to its end does the same through `return()`.
 */
export interface GenerationEngine {
  /** Never waits: what is known now. */
  backend(): Backend;
  /** Tokens of prompt and answer together; null while it is not known. */
  contextLength(): number | null;
  features(): GenerationFeatures;
  /** Never waits: what is known now. Null: the engine's cache is another server's, or has not been told of yet. */
  cacheUsage(): CacheUsage | null;
  generate(request: GenerationRequest, signal: AbortSignal): AsyncGenerator<GenerationEvent, void, undefined>;
  /** Resolves when the engine could answer now; otherwise throws an Error with a sentence for the operator. */
  check(signal: AbortSignal): Promise<void>;
  /** Ends running generations with 503 and frees the runtime. May be called twice. */
  close(): Promise<void>;
}
