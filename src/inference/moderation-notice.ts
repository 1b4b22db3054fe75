import { type Static, Type } from 'typebox';
import type { ModerationNotice } from '../lib/screen.ts';
import { titleSchemas } from '../lib/title-schemas.ts';

/** Field `moderation` of a response, present only when a guardrail policy has something to say of it. */
export const ModerationField = Type.Object(
  {
    flagged: Type.Boolean({ description: 'False: the content could not be screened, and the policy lets it pass.' }),
    action: Type.Enum(['block', 'warn']),
    stage: Type.Enum(['input', 'output']),
    policy_id: Type.String(),
    reasons: Type.Array(Type.String()),
  },
  { description: 'Result of the guardrail policy. On a stream: in the first chunk, of the input only.' },
);

type ModerationField = Static<typeof ModerationField>;

/** Value of `X-Moderation-Warning` for content that passed although it could not be screened. */
const UNSCREENED = 'unscreened';

/** Merges the notices of one response. The output counts more than the input, and a block more than a warning. */
export function mergeNotices(notices: readonly (ModerationNotice | null)[]): ModerationNotice | null {
  const known = notices.filter((notice) => notice !== null);
  const rank = (notice: ModerationNotice) => Number(notice.stage === 'output') * 2 + Number(notice.action === 'block');
  const [first] = known.toSorted((a, b) => rank(b) - rank(a));
  if (first === undefined) return null;
  const reasons = [...new Set(known.flatMap((notice) => notice.reasons))];
  return { ...first, flagged: known.some(({ flagged }) => flagged), reasons };
}

/** The field `moderation`, to be spread into a response. */
export function viewNotice(notice: ModerationNotice | null): { moderation?: ModerationField } {
  if (notice === null) return {};
  const { flagged, action, stage, policyId, reasons } = notice;
  return { moderation: { flagged, action, stage, policy_id: policyId, reasons: [...reasons] } };
}

/** Headers of a response with a notice. Content that was replaced needs no warning. */
export function noticeHeaders(notice: ModerationNotice | null): Record<string, string> {
  if (notice === null) return {};
  const headers = { 'x-guardrail-policy': notice.policyId };
  if (notice.action === 'block') return headers;
  const warning = notice.flagged ? (notice.stage === 'input' ? 'flagged' : 'output_flagged') : UNSCREENED;
  return { ...headers, 'x-moderation-warning': warning };
}

titleSchemas({ ModerationField });
