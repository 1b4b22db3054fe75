import { viewLimits } from '../admin/fields.ts';
import type { ApiKey, ApiKeyWithSecret, CreateKey } from '../admin/keys/schema.ts';
import { DEFAULT_ORGANIZATION, SCOPES, type Scope } from '../lib/caller.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { parseRateLimits } from '../lib/parse-rate-limits.ts';
import { AdminApiError, type AdminClient, withAdminApi } from './admin-client.ts';
import { type CommandSpec, UsageError } from './command-spec.ts';
import { formatTable, formatTime, JSON_OPTION, parseCredits, printResult } from './output.ts';

const PATH = '/v1/admin/keys';
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
    limits: { type: 'text', help: 'Rate limits, such as requests=60,tokens=100000,concurrent=4.' },
    budget: { type: 'text', help: 'Credits per day, month or in total, such as 50/month (default: unlimited).' },
    expires: { type: 'text', help: 'Lifetime, such as 30d, 12h or 15m (default: unlimited).' },
    ...JSON_OPTION,
  },
  action: async (input) => {
    const { org, name, scopes, models, limits, budget, expires } = input.options;
    const body: CreateKey = {
      name: name ?? 'key',
      ...(scopes !== undefined && { scopes: parseScopes(scopes) }),
      ...(models !== undefined && { models: models.split(',').map((model) => model.trim()) }),
      ...(limits !== undefined && { limits: parseLimits(limits) }),
      ...(budget !== undefined && { budget: parseBudget(budget) }),
      ...(expires !== undefined && { expires_in: parseDuration(expires) }),
    };
    const key = await withAdminApi(async (api) => {
      const organization_id = await api.findOrganizationId(org ?? DEFAULT_ORGANIZATION);
      return api.send<ApiKeyWithSecret>({ method: 'POST', path: PATH, body: { organization_id, ...body } });
    });
    printResult(input, key, () => `${secretText(key)} Scopes: ${key.scopes.join(', ')}.`);
  },
};

/** `quire keys list`. */
export const keysListCommand: CommandSpec = {
  summary: 'List the API keys, without their secrets.',
  words: [],
  options: { org: { type: 'text', help: 'List only the keys of this organization.' }, ...JSON_OPTION },
  action: async (input) => {
    const { org } = input.options;
    const keys = await withAdminApi(async (api) =>
      api.list<ApiKey>(PATH, org === undefined ? {} : { organization_id: await api.findOrganizationId(org) }),
    );
    const rows = keys.map((key) => [
      key.id,
      key.name,
      `...${key.hint}`,
      key.scopes.join(','),
      formatTime(key.created_at),
      formatTime(key.last_used_at),
      key.revoked_at === null ? formatTime(key.expires_at) : 'revoked',
    ]);
    const head = ['ID', 'NAME', 'KEY', 'SCOPES', 'CREATED', 'LAST USED', 'EXPIRES'];
    printResult(input, keys, () => formatTable([head, ...rows]));
  },
};

/** `quire keys rotate`. */
export const keysRotateCommand: CommandSpec = {
  summary: 'Replace the secret of an API key, which keeps its id and properties. The new secret is shown once.',
  words: ['id'],
  options: {
    overlap: { type: 'text', help: 'How long the old secret works beside the new one, such as 24h (default: 0s).' },
    ...JSON_OPTION,
  },
  action: async (input) => {
    const [id = ''] = input.words;
    const body = { overlap_seconds: parseDuration(input.options['overlap'] ?? '0s') };
    const key = await withAdminApi((api) => changeKey<ApiKeyWithSecret>(api, id, 'rotate', body));
    const end = key.previous_secret_expires_at;
    const overlap = end === null ? 'The old secret has ended.' : `The old secret works until ${formatTime(end)} UTC.`;
    printResult(input, key, () => `${secretText(key)} ${overlap}`);
  },
};

/** `quire keys revoke`. */
export const keysRevokeCommand: CommandSpec = {
  summary: 'Revoke an API key permanently. All processes reject it within a second.',
  words: ['id'],
  options: { ...JSON_OPTION },
  action: async (input) => {
    const [id = ''] = input.words;
    const key = await withAdminApi((api) => changeKey<ApiKey>(api, id, 'revoke'));
    printResult(input, key, () => `${key.id} (${key.name}) is revoked.`);
  },
};

async function changeKey<T>(api: AdminClient, id: string, action: string, body?: object): Promise<T> {
  try {
    const path = `${PATH}/${encodeURIComponent(id)}/${action}`;
    return await api.send<T>({ method: 'POST', path, ...(body !== undefined && { body }) });
  } catch (error) {
    if (!(error instanceof AdminApiError) || error.code !== 'api_key_not_found') throw error;
    throw new OperatorError(`There is no key '${id}'. 'quire keys list' lists the keys.`);
  }
}

const secretText = ({ id, key }: ApiKeyWithSecret): string =>
  `${key}\n\nStore it now: it cannot be shown again. Id: ${id}.`;

function parseScopes(text: string): Scope[] {
  const words = text.split(',').map((word) => word.trim());
  for (const word of words) {
    if (!(SCOPES as readonly string[]).includes(word))
      throw new UsageError(`'${word}' is not a scope. Scopes: ${SCOPES.join(', ')}.`);
  }
  return words as Scope[];
}

function parseLimits(text: string): NonNullable<CreateKey['limits']> | null {
  try {
    return viewLimits(parseRateLimits(text));
  } catch (error) {
    throw new UsageError(`--limits ${(error as Error).message}.`);
  }
}

function parseBudget(text: string): NonNullable<CreateKey['budget']> {
  const [amount = '', period = 'total'] = text.split('/');
  if (period !== 'day' && period !== 'month' && period !== 'total')
    throw new UsageError(`'${text}' is not a budget such as 50/month, 5/day or 100/total.`);
  return { period, limit_micros: parseCredits(amount) };
}

function parseDuration(text: string): number {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (count === undefined || unit === undefined)
    throw new UsageError(`'${text}' is not a duration such as 30d, 12h, 15m or 90s.`);
  return Number(count) * (SECONDS_PER_UNIT[unit] ?? 1);
}
