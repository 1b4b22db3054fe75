import type { KeyView } from '../accounts/create-key.ts';
import { FIRST_ORGANIZATION } from '../accounts/first-organization.ts';
import { loadConfig } from '../config.ts';
import { SCOPES, type Scope } from '../lib/caller.ts';
import type { CommandSpec } from './command-spec.ts';
import { JSON_OPTION, print, table, when } from './output.ts';
import { withState } from './with-state.ts';
import { WrongCall } from './wrong-call.ts';

/** Everything but the operator's scope. */
const DEFAULT_SCOPES = SCOPES.filter((scope) => scope !== 'admin');
const SECONDS_PER_UNIT: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** `quire keys create`. */
export const keysCreate: CommandSpec = {
  summary: 'Create an API key. It is shown once and cannot be read again.',
  words: [],
  options: {
    org: { type: 'text', help: `Organization that owns it (${FIRST_ORGANIZATION}).` },
    name: { type: 'text', help: "What people call it ('key')." },
    scopes: { type: 'text', help: `Comma-separated, of ${SCOPES.join(', ')} (all but admin).` },
    models: { type: 'text', help: 'Comma-separated model ids, the only ones that it may use (all).' },
    expires: { type: 'text', help: 'Time until it stops working, such as 30d, 12h, 15m (never).' },
    ...JSON_OPTION,
  },
  action: async (input) => {
    const { org, name, scopes, models, expires } = input.options;
    const wanted = {
      organization: org ?? FIRST_ORGANIZATION,
      name: name ?? 'key',
      scopes: scopes === undefined ? DEFAULT_SCOPES : scopesOf(scopes),
      models: models?.split(',').map((model) => model.trim()) ?? null,
      expiresInSeconds: expires === undefined ? null : secondsOf(expires),
    };
    const key = (await withState(loadConfig(), 'keys create', wanted)) as KeyView & { key: string };
    print(
      input,
      key,
      () => `${key.key}\n\nKeep it: it is not shown again. Its id is ${key.id}, its scopes ${key.scopes.join(', ')}.`,
    );
  },
};

/** `quire keys list`. */
export const keysList: CommandSpec = {
  summary: 'List the API keys. Secrets are not among what is shown.',
  words: [],
  options: { org: { type: 'text', help: 'Only those of this organization.' }, ...JSON_OPTION },
  action: async (input) => {
    const keys = (await withState(loadConfig(), 'keys list', {
      organization: input.options['org'] ?? null,
    })) as KeyView[];
    const rows = keys.map((key) => [
      key.id,
      key.name,
      `...${key.hint}`,
      key.scopes.join(','),
      when(key.created_at),
      key.revoked_at === null ? when(key.expires_at) : 'revoked',
    ]);
    print(input, keys, () => table([['ID', 'NAME', 'KEY', 'SCOPES', 'CREATED', 'EXPIRES'], ...rows]));
  },
};

/** `quire keys revoke`. */
export const keysRevoke: CommandSpec = {
  summary: 'Revoke an API key for good. It stops working within 5 seconds everywhere.',
  words: ['id'],
  options: { ...JSON_OPTION },
  action: async (input) => {
    const key = (await withState(loadConfig(), 'keys revoke', { id: input.words[0] })) as KeyView;
    print(input, key, () => `${key.id} (${key.name}) is revoked.`);
  },
};

function scopesOf(text: string): Scope[] {
  const words = text.split(',').map((word) => word.trim());
  for (const word of words) {
    if (!(SCOPES as readonly string[]).includes(word))
      throw new WrongCall(`'${word}' is not a scope; they are ${SCOPES.join(', ')}.`);
  }
  return words as Scope[];
}

function secondsOf(text: string): number {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (count === undefined || unit === undefined)
    throw new WrongCall(`'${text}' is not a time such as 30d, 12h, 15m or 90s.`);
  return Number(count) * (SECONDS_PER_UNIT[unit] ?? 1);
}
