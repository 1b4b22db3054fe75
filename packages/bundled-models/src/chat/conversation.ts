/** A chat message in OpenAI's format, as far as the chat model reads it. */
export interface Message {
  role: 'system' | 'user' | 'assistant' | 'tool';
  content: string | null;
  tool_calls?: readonly { function: { name: string } }[];
}

/** A function that the model may call. `parameters` is a JSON schema of an object; absent means no arguments. */
export interface Tool {
  function: { name: string; description?: string; parameters?: Record<string, unknown> };
}

/** A document to answer from. */
export interface SourceDocument {
  title: string;
  text: string;
  /** Unix seconds at which it was last changed; absent: unknown. */
  modifiedAt?: number;
  /** The text is the answer: it was computed over the rows of a table. */
  isComputed?: boolean;
  /** Score of the search, 0 to 1; absent: unknown. */
  score?: number;
}

/** A chat prompt. `documents` are the hits of a search, best first; absent: nothing was searched. */
export interface Conversation {
  messages: readonly Message[];
  tools: readonly Tool[];
  toolChoice: 'auto' | 'none' | 'required' | { name: string };
  /** False: at most one tool call. */
  parallelToolCalls: boolean;
  documents?: readonly SourceDocument[];
}

/** A JSON format: any object, or one that a JSON schema accepts. */
export type JsonFormat =
  | { type: 'json_object' }
  | { type: 'json_schema'; name: string; strict: boolean; schema: Record<string, unknown>; path?: string };

/** What the selection of an answer needs of the service. */
export interface AnswerServices {
  /** Scores documents for a query, 0 to 1, in order. */
  rerank(
    request: { query: string; documents: readonly string[] },
    signal: AbortSignal,
  ): Promise<{ scores: readonly number[] }>;
  /** Splits a text into sentences: offsets, without surrounding white space. */
  splitSentences(text: string): readonly { start: number; end: number }[];
  /** Begins a slice of the event loop. When it is over, `next` waits for another one. */
  startSlice(): { readonly isOver: boolean; next(): Promise<void> };
}
