import { type Static, Type } from 'typebox';
import type { ModerationNotice } from '../lib/screen.ts';
import { titleSchemas } from '../lib/title-schemas.ts';

const Flagged = Type.Boolean({
  description: 'False: the content could not be screened, and the policy lets it pass.',
});
const Action = Type.Enum(['block', 'warn'], { type: 'string' });
const Stage = Type.Enum(['input', 'output'], { type: 'string' });
const Reasons = Type.Array(Type.String());

/** Field `moderation` of a response, present only when a guardrail policy has something to say of it. */
export const ModerationField = Type.Object(
  {
    flagged: Flagged,
    action: Action,
    stage: Stage,
    policy_id: Type.String(),
    reasons: Reasons,
    stages: Type.Array(Type.Object({ stage: Stage, flagged: Flagged, action: Action, reasons: Reasons }), {
      description: 'The result of each stage that the policy has something to say of: input first.',
    }),
  },
  {
    description:
      'Result of the guardrail policy: that of the most severe stage, with the reasons of all. On a stream: in the first chunk, of the input only.',
  },
);

type ModerationField = Static<typeof ModerationField>;

/** Notices of one response, of any number of calls. Null: the policy had nothing to say. */
export type Notices = readonly (ModerationNotice | null)[];

/** Value of `X-Moderation-Warning` for content that passed although it could not be screened. */
const UNSCREENED = 'unscreened';
const FLAGGED = { input: 'flagged', output: 'output_flagged' } as const;

/** Merges the notices of each stage. A block counts more than a warning. */
function mergeStages(notices: Notices): ModerationNotice[] {
  const reported = notices.filter((notice) => notice !== null);
  return (['input', 'output'] as const).flatMap((stage) => {
    const ofStage = reported.filter((notice) => notice.stage === stage);
    const decisive = ofStage.find(({ action }) => action === 'block') ?? ofStage[0];
    if (decisive === undefined) return [];
    const reasons = [...new Set(ofStage.flatMap((notice) => notice.reasons))];
    return [{ ...decisive, flagged: ofStage.some(({ flagged }) => flagged), reasons }];
  });
}

/** The field `moderation`, to be spread into a response. The output counts more than the input. */
export function viewNotices(notices: Notices): { moderation?: ModerationField } {
  const merged = mergeStages(notices);
  const last = merged.at(-1);
  if (last === undefined) return {};
  return {
    moderation: {
      flagged: merged.some(({ flagged }) => flagged),
      action: last.action,
      stage: last.stage,
      policy_id: last.policyId,
      reasons: [...new Set(merged.flatMap(({ reasons }) => reasons))],
      stages: merged.map(({ stage, flagged, action, reasons }) => ({ stage, flagged, action, reasons: [...reasons] })),
    },
  };
}

/** Headers of a response with notices. Content that was replaced needs no warning. */
export function noticeHeaders(notices: Notices): Record<string, string> {
  const merged = mergeStages(notices);
  const last = merged.at(-1);
  if (last === undefined) return {};
  const passed = merged.filter(({ action }) => action !== 'block');
  const warnings = new Set(passed.map(({ stage, flagged }) => (flagged ? FLAGGED[stage] : UNSCREENED)));
  return {
    'x-guardrail-policy': last.policyId,
    ...(warnings.size > 0 && { 'x-moderation-warning': [...warnings].join(', ') }),
  };
}

titleSchemas({ ModerationField });
