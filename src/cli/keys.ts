import { InvalidArgumentError } from 'commander';
import type { ApiKey, ApiKeyWithSecret, CreateKey } from '../accounts/keys/schema.ts';
import { DEFAULT_ORGANIZATION, SCOPES, type Scope } from '../lib/caller.ts';
import { isId } from '../lib/ids.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { parseRateLimits } from '../lib/parse-rate-limits.ts';
import { AdminApiError, type AdminClient, withAdminApi } from './admin-client.ts';
import { CliCommand } from './command.ts';
import { formatTable, formatTime, printResult } from './output.ts';
import { collectValues, parseCredits, parseDuration } from './parse-values.ts';

const PATH = '/v1/admin/keys';

/** `quire keys`. */
export function keysCommand(): CliCommand {
  const keys = new CliCommand('keys').description('Manage API keys.');
  keys
    .command('create')
    .summary('Create an API key')
    .description('Create an API key. It is shown once and cannot be read again.')
    .option('--org <organization>', 'Organization that owns the key, by name or id', DEFAULT_ORGANIZATION)
    .option('--name <text>', 'Display name', 'key')
    .option('--scopes <list>', `Comma-separated: ${SCOPES.join(', ')} (default: all but keys and admin)`, parseScopes)
    .option('--models <list>', 'Comma-separated model ids that the key may use (default: all)', parseList)
    .option('--knowledge-base <id>', 'Knowledge base that the key may use; repeatable (default: all)', collectValues)
    .option('--limits <list>', 'Rate limits, such as requests=60,tokens=100000,concurrent=4', parseLimits)
    .option(
      '--budget <credits>',
      'Credits per day, month or in total, such as 50/month (default: unlimited)',
      parseBudget,
    )
    .option('--expires <duration>', 'Lifetime, such as 30d, 12h or 15m (default: unlimited)', parseDuration)
    .jsonOption()
    .examples('keys create --name laptop', 'keys create --org acme --scopes inference --budget 50/month --expires 30d')
    .action(createKey);
  keys
    .command('list')
    .summary('List the API keys')
    .description('List the API keys, without their secrets.')
    .option('--org <organization>', 'Only the keys of this organization, by name or id')
    .jsonOption()
    .action(listKeys);
  keys
    .command('rotate')
    .summary('Replace the secret of an API key')
    .description('Replace the secret of an API key, which keeps its id and properties. The new secret is shown once.')
    .argument('<key>', 'Id or name of the key')
    .option(
      '--overlap <duration>',
      'How long the old secret works beside the new one, such as 24h (default: 0s)',
      parseDuration,
    )
    .jsonOption()
    .examples('keys rotate laptop --overlap 24h')
    .action(rotateKey);
  keys
    .command('revoke')
    .summary('Revoke an API key permanently')
    .description('Revoke an API key permanently. All processes reject it within a second.')
    .argument('<key>', 'Id or name of the key')
    .jsonOption()
    .action(revokeKey);
  return keys;
}

interface CreateOptions extends Pick<CreateKey, 'scopes' | 'models' | 'limits' | 'budget'> {
  org: string;
  name: string;
  knowledgeBase?: string[];
  /** Seconds. */
  expires?: number;
  json?: boolean;
}

async function createKey({ org, json = false, expires, knowledgeBase, ...properties }: CreateOptions): Promise<void> {
  const key = await withAdminApi(async (api) => {
    const body: CreateKey = {
      organization_id: await api.findOrganizationId(org),
      ...properties,
      ...(knowledgeBase && { knowledge_base_ids: knowledgeBase }),
      ...(expires !== undefined && { expires_in: expires }),
    };
    return api.send<ApiKeyWithSecret>({ method: 'POST', path: PATH, body });
  });
  printResult({ json }, key, () => `${secretText(key)} Scopes: ${key.scopes.join(', ')}.`);
}

async function listKeys({ org, ...options }: { org?: string; json?: boolean }): Promise<void> {
  const keys = await withAdminApi(
    async (api) =>
      api.list<ApiKey>(PATH, org === undefined ? {} : { organization_id: await api.findOrganizationId(org) }),
    { isReadOnly: true },
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
  printResult(options, keys, () => formatTable([head, ...rows]));
}

async function rotateKey(
  idOrName: string,
  { overlap = 0, ...options }: { overlap?: number; json?: boolean },
): Promise<void> {
  const body = { overlap_seconds: overlap };
  const key = await withAdminApi((api) => changeKey<ApiKeyWithSecret>(api, idOrName, 'rotate', body));
  const end = key.previous_secret_expires_at;
  const ending = end === null ? 'The old secret has ended.' : `The old secret works until ${formatTime(end)} UTC.`;
  printResult(options, key, () => `${secretText(key)} ${ending}`);
}

async function revokeKey(idOrName: string, options: { json?: boolean }): Promise<void> {
  const key = await withAdminApi((api) => changeKey<ApiKey>(api, idOrName, 'revoke'));
  printResult(options, key, () => `${key.id} (${key.name}) is revoked.`);
}

async function changeKey<T>(api: AdminClient, idOrName: string, action: string, body?: object): Promise<T> {
  const id = await findKeyId(api, idOrName);
  try {
    const path = `${PATH}/${encodeURIComponent(id)}/${action}`;
    return await api.send<T>({ method: 'POST', path, ...(body !== undefined && { body }) });
  } catch (error) {
    if (!(error instanceof AdminApiError) || error.code !== 'api_key_not_found') throw error;
    throw new OperatorError(`There is no key '${idOrName}'. 'quire keys list' lists the keys.`);
  }
}

/** The id of the valid key with this name; other texts are returned as they are, because they may be ids. */
async function findKeyId(api: AdminClient, idOrName: string): Promise<string> {
  if (isId('apiKey', idOrName)) return idOrName;
  const keys = await api.list<ApiKey>(PATH);
  const ids = keys.filter(({ name, revoked_at }) => name === idOrName && revoked_at === null).map(({ id }) => id);
  if (ids.length > 1) throw new OperatorError(`Several keys are named '${idOrName}': ${ids.join(', ')}. Use an id.`);
  return ids[0] ?? idOrName;
}

const secretText = ({ id, key }: ApiKeyWithSecret): string =>
  `${key}\n\nStore it now: it cannot be shown again. Id: ${id}.`;

const parseList = (text: string): string[] => text.split(',').map((word) => word.trim());

function parseScopes(text: string): Scope[] {
  const words = parseList(text);
  const unknown = words.find((word) => !(SCOPES as readonly string[]).includes(word));
  if (unknown === undefined) return words as Scope[];
  throw new InvalidArgumentError(`'${unknown}' is not a scope. Scopes: ${SCOPES.join(', ')}.`);
}

function parseLimits(text: string): NonNullable<CreateKey['limits']> {
  try {
    const { requestsPerMinute, tokensPerMinute, concurrent } = parseRateLimits(text);
    return { requests_per_minute: requestsPerMinute, tokens_per_minute: tokensPerMinute, concurrent };
  } catch (error) {
    throw new InvalidArgumentError(`It ${(error as Error).message}.`);
  }
}

function parseBudget(text: string): NonNullable<CreateKey['budget']> {
  const [amount = '', period = 'total'] = text.split('/');
  if (period === 'day' || period === 'month' || period === 'total')
    return { period, limit_micros: parseCredits(amount) };
  throw new InvalidArgumentError('Expected a budget such as 50/month, 5/day or 100/total.');
}
