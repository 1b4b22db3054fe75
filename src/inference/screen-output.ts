import type { Deps } from '../deps.ts';
import type { GenerationEvent } from '../engines/engine.ts';
import type { ModerationNotice, ScreenSubject } from '../lib/screen.ts';

/** An event of one choice. */
export type ChoiceEvent = Exclude<GenerationEvent, { type: 'usage' | 'prompt-end' }>;

/**
 * Screens the answers of a generation that is not streamed. Each choice is screened as one text: its content, followed
 * by the names and arguments of its tool calls. A choice that a policy blocks becomes the replacement text with the
 * reason `content_filter`; its reasoning, tool calls and log probabilities are dropped. Other events are returned
 * unchanged. `notice`: the decision of the policy about the answers, for the response.
 */
export async function screenOutput(
  deps: Pick<Deps, 'screen'>,
  subject: ScreenSubject,
  events: readonly ChoiceEvent[],
): Promise<{ events: ChoiceEvent[]; notice: ModerationNotice | null }> {
  const texts = new Map<number, string>();
  for (const event of events) texts.set(event.choice, (texts.get(event.choice) ?? '') + screenedText(event));
  const choices = [...texts.keys()];
  const { replacements, notice } = await deps.screen.output(subject, [...texts.values()]);
  const blocked = new Map<number, string>();
  for (const [i, choice] of choices.entries()) {
    const replacement = replacements[i] ?? null;
    if (replacement !== null) blocked.set(choice, replacement);
  }
  if (blocked.size === 0) return { events: [...events], notice };
  const allowed = events.filter(({ choice }) => !blocked.has(choice));
  const replaced = [...blocked].flatMap(([choice, text]): ChoiceEvent[] => [
    { type: 'text-delta', choice, text, tokens: 0 },
    { type: 'choice-end', choice, reason: 'content_filter' },
  ]);
  return { events: [...allowed, ...replaced], notice };
}

function screenedText(event: ChoiceEvent): string {
  if (event.type === 'text-delta') return event.text;
  if (event.type === 'tool-call-delta') return (event.name ?? '') + event.arguments;
  return '';
}
