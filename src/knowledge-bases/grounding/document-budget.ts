/** Share of the context that documents may take. */
const CONTEXT_SHARE = 0.5;
/** Maximum tokens of documents: more do not improve answers, and are billed. */
const MAX_DOCUMENT_TOKENS = 8_000;
/** Reserved for an answer without a token limit: tokens, or a smaller share of the remaining context. */
const DEFAULT_ANSWER = { tokens: 512, share: 0.5 } as const;
/**
 * Maximum share of the remaining context reserved for an answer with a token limit. Many clients send the whole context
 * as the limit; reserving all of it would leave no room for documents.
 */
const MAX_ANSWER_SHARE = 0.75;

/** Tokens of a prompt without documents. */
export interface PromptUsage {
  /** Tokens of prompt and answer together. */
  contextTokens: number;
  /** Tokens of the conversation, with the instructions. */
  conversationTokens: number;
  /** Tokens of the answer at most; null: not limited. */
  maxTokens: number | null;
}

/** Tokens that documents may have in a prompt; 0 where the conversation leaves none. */
export function documentBudget({ contextTokens, conversationTokens, maxTokens }: PromptUsage): number {
  const room = Math.max(0, contextTokens - conversationTokens);
  const answer =
    maxTokens === null
      ? Math.min(DEFAULT_ANSWER.tokens, room * DEFAULT_ANSWER.share)
      : Math.min(maxTokens, room * MAX_ANSWER_SHARE);
  return Math.floor(Math.min(room - answer, contextTokens * CONTEXT_SHARE, MAX_DOCUMENT_TOKENS));
}
