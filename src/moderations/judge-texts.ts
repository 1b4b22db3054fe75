import type { Deps } from '../deps.ts';
import { MODERATION_CATEGORIES, type ModerationCategory, type ModerationScores } from '../engines/moderation-engine.ts';
import { invalidValue } from '../errors.ts';
import { admitModeration, moderate } from '../inference/moderate.ts';
import type { Call } from '../lib/caller.ts';
import { newId } from '../lib/ids.ts';
import type { ModerationAnswer, ModerationRequest } from './schema.ts';

/** What the judging of texts needs of the dependencies. */
export type ModerationDeps = Pick<Deps, 'models' | 'recordUsage' | 'metrics' | 'now'>;

/** A score from here on flags, whatever an organization's guardrail policies say. */
const THRESHOLD = 0.5;

/** Judges the request's texts. Throws 400 for a blank one, and what `admitModeration` and the engine throw. */
export async function judgeTexts(
  deps: ModerationDeps,
  call: Call,
  request: ModerationRequest,
  signal: AbortSignal,
): Promise<ModerationAnswer> {
  const admitted = admitModeration(deps, call.caller, request.model ?? undefined);
  refuseBlank(request.input);
  const scores = await moderate(deps, call, admitted, { texts: [request.input].flat(), signal });
  return { id: newId('moderation'), model: admitted.model.id, results: scores.map(viewResult) };
}

function refuseBlank(input: ModerationRequest['input']): void {
  const isBlank = (text: string) => !/\S/.test(text);
  if (typeof input === 'string') {
    if (isBlank(input)) throw invalidValue('input', 'must not be blank');
    return;
  }
  const blank = input.findIndex(isBlank);
  if (blank !== -1) throw invalidValue(`input.${blank}`, 'must not be blank');
}

function viewResult(scores: ModerationScores): ModerationAnswer['results'][number] {
  const isFlagged = (category: ModerationCategory) => scores[category] >= THRESHOLD;
  return {
    flagged: MODERATION_CATEGORIES.some(isFlagged),
    categories: ofEach(isFlagged),
    category_scores: ofEach((category) => scores[category]),
  };
}

/** The value of each category, in the order of the interface. Clients of OpenAI read `self-harm`. */
function ofEach<T>(value: (category: ModerationCategory) => T) {
  return {
    harassment: value('harassment'),
    hate: value('hate'),
    self_harm: value('self_harm'),
    'self-harm': value('self_harm'),
    sexual: value('sexual'),
    violence: value('violence'),
  };
}
