import type { Call } from './caller.ts';

/** The call of a model whose texts are screened. */
export interface ScreenSubject {
  call: Call;
  model: { id: string };
}

/** Texts that a policy applies to: input of the caller, or output of the model. */
export type PolicyStage = 'input' | 'output';

/** Result of a policy that did not simply pass a text: what the caller sees of it. */
export interface ModerationNotice {
  /** False where the text could not be screened and the policy lets it pass nevertheless. */
  flagged: boolean;
  action: 'block' | 'warn';
  stage: PolicyStage;
  policyId: string;
  reasons: readonly string[];
}

/** Result of screening the answers of a call. */
export interface ScreenedOutput {
  /** For each text: null to pass it, or the text that replaces it. */
  replacements: readonly (string | null)[];
  notice: ModerationNotice | null;
}

/** A content policy. `inference/` applies it to every call of an inference route. */
export interface Screen {
  /**
   * Resolves with null when the policy has nothing to say. Throws 400 `content_filtered` when it blocks one of the
   * texts, and 503 `engine_unavailable` when it would block flagged texts and cannot be evaluated.
   */
  input(subject: ScreenSubject, texts: readonly string[]): Promise<ModerationNotice | null>;
  /** Throws 503 as `input` does. */
  output(subject: ScreenSubject, texts: readonly string[]): Promise<ScreenedOutput>;
}

/** The policy that blocks nothing. */
export const PASS_ALL: Screen = {
  input: async () => null,
  output: async (_subject, texts) => ({ replacements: texts.map(() => null), notice: null }),
};
