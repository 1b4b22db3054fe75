import type { Call } from './caller.ts';

/** A content policy. `inference/` applies it to every call of an inference route. */
export interface Screen {
  /** Throws 400 `content_filtered` when the policy blocks one of the texts. */
  input(call: Call, texts: readonly string[]): Promise<void>;
  /** For each text of an answer: null to pass it, or the text that replaces it. */
  output(call: Call, texts: readonly string[]): Promise<readonly (string | null)[]>;
}

/** The policy that blocks nothing. */
export const PASS_ALL: Screen = {
  input: async () => {},
  output: async (_call, texts) => texts.map(() => null),
};
