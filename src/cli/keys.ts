import type { KeyView } from '../accounts/create-key.ts';
import { loadConfig } from '../config.ts';
import { DEFAULT_ORGANIZATION, SCOPES, type Scope } from '../lib/caller.ts';
import { type CommandSpec, UsageError } from './command-spec.ts';
import { formatTable, formatTime, JSON_OPTION, printResult } from './output.ts';
import { runStateCommand } from './run-state-command.ts';

/** Every scope except those that manage keys or the instance. */
const DEFAULT_SCOPES = SCOPES.filter((scope) => scope !== 'admin' && scope !== 'keys');
const SECONDS_PER_UNIT: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** `quire keys create`. */
export const keysCreateCommand: CommandSpec = {
  summary: 'Create an API key. It is shown once and cannot be read again.',
  words: [],
  options: {
    org: { type: 'text', help: `Organization that owns the key (default: ${DEFAULT_ORGANIZATION}).` },
    name: { type: 'text', help: "Display name (default: 'key')." },
    scopes: { type: 'text', help: `Comma-separated scopes: ${SCOPES.join(', ')} (default: all but keys and admin).` },
    models: { type: 'text', help: 'Comma-separated model ids that the key may use (default: all).' },
    expires: { type: 'text', help: 'Lifetime, such as 30d, 12h or 15m (default: unlimited).' },
    ...JSON_OPTION,
  },
  action: async (input) => {
    const { org, name, scopes, models, expires } = input.options;
    const newKey = {
      organization: org ?? DEFAULT_ORGANIZATION,
      name: name ?? 'key',
      scopes: scopes === undefined ? DEFAULT_SCOPES : parseScopes(scopes),
      models: models?.split(',').map((model) => model.trim()) ?? null,
      expiresInSeconds: expires === undefined ? null : parseDuration(expires),
    };
    const key = (await runStateCommand(loadConfig(), 'keys create', newKey)) as KeyView & { key: string };
    printResult(
      input,
      key,
      () => `${key.key}\n\nStore it now: it cannot be shown again. Id: ${key.id}. Scopes: ${key.scopes.join(', ')}.`,
    );
  },
};

/** `quire keys list`. */
export const keysListCommand: CommandSpec = {
  summary: 'List the API keys, without their secrets.',
  words: [],
  options: { org: { type: 'text', help: 'List only the keys of this organization.' }, ...JSON_OPTION },
  action: async (input) => {
    const keys = (await runStateCommand(loadConfig(), 'keys list', {
      organization: input.options['org'] ?? null,
    })) as KeyView[];
    const rows = keys.map((key) => [
      key.id,
      key.name,
      `...${key.hint}`,
      key.scopes.join(','),
      formatTime(key.created_at),
      key.revoked_at === null ? formatTime(key.expires_at) : 'revoked',
    ]);
    printResult(input, keys, () => formatTable([['ID', 'NAME', 'KEY', 'SCOPES', 'CREATED', 'EXPIRES'], ...rows]));
  },
};

/** `quire keys revoke`. */
export const keysRevokeCommand: CommandSpec = {
  summary: 'Revoke an API key permanently. All processes reject it within 5 seconds.',
  words: ['id'],
  options: { ...JSON_OPTION },
  action: async (input) => {
    const key = (await runStateCommand(loadConfig(), 'keys revoke', { id: input.words[0] })) as KeyView;
    printResult(input, key, () => `${key.id} (${key.name}) is revoked.`);
  },
};

function parseScopes(text: string): Scope[] {
  const words = text.split(',').map((word) => word.trim());
  for (const word of words) {
    if (!(SCOPES as readonly string[]).includes(word))
      throw new UsageError(`'${word}' is not a scope. Scopes: ${SCOPES.join(', ')}.`);
  }
  return words as Scope[];
}

function parseDuration(text: string): number {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (count === undefined || unit === undefined)
    throw new UsageError(`'${text}' is not a duration such as 30d, 12h, 15m or 90s.`);
  return Number(count) * (SECONDS_PER_UNIT[unit] ?? 1);
}
