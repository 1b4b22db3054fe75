/** The part of a model's context that documents may take: the conversation and the answer need the rest. */
const CONTEXT_SHARE = 0.5;
/** More tokens of documents than this help no answer, and every one of them is paid for. */
const MAX_DOCUMENT_TOKENS = 8_000;
/** What is kept for an answer whose length nobody has limited: tokens, and the part of what the conversation leaves where that is less. */
const USUAL_ANSWER = { tokens: 512, share: 0.5 } as const;
/**
 * The most of what the conversation leaves that is kept for an answer of limited length. Many clients send the whole context as the limit,
 * without meaning it; keeping all of it would leave a knowledge base that was asked for without a word.
 */
const MAX_ANSWER_SHARE = 0.75;

/** What a prompt has to hold beside documents. */
export interface Need {
  /** Tokens of prompt and answer together. */
  contextTokens: number;
  /** Tokens of the conversation, with the instructions. */
  conversationTokens: number;
  /** Tokens of the answer at most; null: not limited. */
  maxTokens: number | null;
}

/** Tokens that documents may have in a prompt; 0 where the conversation leaves none. */
export function documentBudget({ contextTokens, conversationTokens, maxTokens }: Need): number {
  const room = Math.max(0, contextTokens - conversationTokens);
  const answer =
    maxTokens === null
      ? Math.min(USUAL_ANSWER.tokens, room * USUAL_ANSWER.share)
      : Math.min(maxTokens, room * MAX_ANSWER_SHARE);
  return Math.floor(Math.min(room - answer, contextTokens * CONTEXT_SHARE, MAX_DOCUMENT_TOKENS));
}
