import type { Deps } from '../deps.ts';
import { invalidValue, missingField } from '../errors.ts';
import type { Call } from '../lib/caller.ts';
import { findPrompt } from './manage-prompts.ts';
import type { PromptReference, PromptRendering, RenderPrompt } from './schema.ts';
import { parseVariables, renderTemplate } from './template.ts';

/** Maximum characters of all inserted values. A variable may be used many times. */
const MAX_RENDERED_CHARACTERS = 1_000_000;

/**
 * Renders a prompt. Throws the errors of `getPrompt`, and 400 naming `variables.<name>` for missing and unknown
 * variables.
 */
export async function renderPrompt(
  deps: Pick<Deps, 'db'>,
  call: Call,
  id: string,
  { version, variables = {} }: RenderPrompt,
): Promise<PromptRendering> {
  const { version: row } = await findPrompt(deps, call, { id, version });
  return { id, object: 'prompt.rendering', version: row.version, text: render(row.text, variables, 'variables') };
}

/** A reference with a resolved version, and the rendered text. */
export interface ResolvedPrompt {
  reference: PromptReference & { version: string };
  text: string;
}

/** Renders the prompt that a request references. Throws the errors of `renderPrompt` with names below `prompt`. */
export async function resolvePromptReference(
  deps: Pick<Deps, 'db'>,
  call: Call,
  { id, version, variables }: PromptReference,
): Promise<ResolvedPrompt> {
  const params = { id: 'prompt.id', version: 'prompt.version' };
  const number = version == null ? undefined : Number(version);
  const { version: row } = await findPrompt(deps, call, { id, version: number, params });
  const text = render(row.text, variables ?? {}, 'prompt.variables');
  return { reference: { id, version: String(row.version), variables: variables ?? {} }, text };
}

function render(template: string, variables: Readonly<Record<string, string>>, param: string): string {
  const values = new Map(Object.entries(variables).map(([name, value]) => [name.normalize('NFC'), value]));
  const names = parseVariables(template);
  const unknown = Object.keys(variables).find((name) => !names.includes(name.normalize('NFC')));
  if (unknown !== undefined) throw invalidValue(`${param}.${unknown}`, 'is not a variable of the prompt');
  const missing = names.find((name) => !values.has(name));
  if (missing !== undefined) throw missingField(`${param}.${missing}`);
  let characters = 0;
  return renderTemplate(template, (name) => {
    const value = values.get(name) ?? '';
    characters += value.length;
    if (characters > MAX_RENDERED_CHARACTERS)
      throw invalidValue(
        `${param}.${name}`,
        `exceeds the limit of ${MAX_RENDERED_CHARACTERS} characters for all values`,
      );
    return value;
  });
}
