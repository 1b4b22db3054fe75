import type { Deps } from '../deps.ts';
import { MODERATION_CATEGORIES, type ModerationCategory, type ModerationScores } from '../engines/moderation-engine.ts';
import { invalidValue } from '../errors.ts';
import { admit } from '../inference/admission.ts';
import { moderate } from '../inference/moderate.ts';
import { exemptInput } from '../inference/screening.ts';
import type { Call } from '../lib/caller.ts';
import { newId } from '../lib/ids.ts';
import type { ModerationRequest, ModerationResponse } from './schema.ts';

/** Dependencies of `classifyTexts`. */
export type ModerationDeps = Pick<Deps, 'models' | 'reserve' | 'recordUsage' | 'metrics' | 'now'>;

/** Scores from here on are flagged, independent of the guardrail policies of the organization. */
const THRESHOLD = 0.5;

/** Scores the texts of the request for harm. Throws 400 for a blank text, and what `admit` and the engine throw. */
export async function classifyTexts(
  deps: ModerationDeps,
  call: Call,
  request: ModerationRequest,
  signal: AbortSignal,
): Promise<ModerationResponse> {
  const admission = admit(deps, call, { kind: 'moderation', model: request.model ?? undefined });
  rejectBlank(request.input);
  // The texts are sent to be classified: a policy that blocked them would make the route useless.
  const scores = await moderate(deps, admission, exemptInput([request.input].flat()), signal);
  return { id: newId('moderation'), model: admission.model.id, results: scores.map(viewResult) };
}

function rejectBlank(input: ModerationRequest['input']): void {
  const isBlank = (text: string) => !/\S/.test(text);
  if (typeof input === 'string') {
    if (isBlank(input)) throw invalidValue('input', 'must not be blank');
    return;
  }
  const blank = input.findIndex(isBlank);
  if (blank !== -1) throw invalidValue(`input.${blank}`, 'must not be blank');
}

function viewResult(scores: ModerationScores): ModerationResponse['results'][number] {
  const isFlagged = (category: ModerationCategory) => scores[category] >= THRESHOLD;
  return {
    flagged: MODERATION_CATEGORIES.some(isFlagged),
    categories: mapCategories(isFlagged),
    category_scores: mapCategories((category) => scores[category]),
  };
}

/** Makes one value per category. `self-harm` is the spelling that OpenAI's clients read. */
function mapCategories<T>(value: (category: ModerationCategory) => T) {
  return {
    harassment: value('harassment'),
    hate: value('hate'),
    self_harm: value('self_harm'),
    'self-harm': value('self_harm'),
    sexual: value('sexual'),
    violence: value('violence'),
  };
}
