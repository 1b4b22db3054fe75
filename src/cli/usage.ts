import { InvalidArgumentError, Option } from 'commander';
import type { ApiKey } from '../accounts/keys/schema.ts';
import type { UsageBucket } from '../billing/schema.ts';
import { withAdminApi } from './admin-client.ts';
import { CliCommand } from './command.ts';
import { formatTable, formatTime, printResult } from './output.ts';
import { formatCredits, parseDuration } from './parse-values.ts';

const GROUPS = ['model', 'key', 'route'] as const;
const DEFAULT_SECONDS = 7 * 86_400;

interface UsageOptions {
  /** Seconds. */
  since: number;
  by: string;
  hourly?: boolean;
  org?: string;
  json?: boolean;
}

/** `quire usage`. */
export function usageCommand(): CliCommand {
  return new CliCommand('usage')
    .description('Show calls, tokens and cost by day and model, key or route.')
    .addOption(
      new Option('--since <duration>', 'Length of the period up to now, such as 24h or 30d')
        .argParser(parseDuration)
        .default(DEFAULT_SECONDS, '7d'),
    )
    .option('--by <list>', `Comma-separated: ${GROUPS.join(', ')}`, parseGroups, 'model')
    .option('--hourly', 'Rows by hour instead of by day (UTC)')
    .option('--org <organization>', 'Only this organization, by name or id')
    .jsonOption()
    .examples('usage', 'usage --by key,model --since 30d', 'usage --since 24h --hourly --json')
    .action(showUsage);
}

function parseGroups(text: string): string {
  const unknown = text.split(',').find((word) => !(GROUPS as readonly string[]).includes(word.trim()));
  if (unknown === undefined) return text.replaceAll(' ', '');
  throw new InvalidArgumentError(`'${unknown}' is not one of ${GROUPS.join(', ')}.`);
}

async function showUsage({ since, by, hourly, org, ...options }: UsageOptions): Promise<void> {
  const { rows, names } = await withAdminApi(
    async (api) => {
      const query = {
        start_time: String(Math.floor(Date.now() / 1000) - since),
        group_by: by,
        bucket: hourly ? 'hour' : 'day',
        ...(org !== undefined && { organization_id: await api.findOrganizationId(org) }),
      };
      const usage = await api.list<UsageBucket & { id: string }>('/v1/admin/usage', query);
      const keys = by.includes('key') ? await api.list<ApiKey>('/v1/admin/keys') : [];
      return { rows: usage, names: new Map(keys.map(({ id, name }) => [id, name])) };
    },
    { isReadOnly: true },
  );
  printResult(options, rows, () => usageTable(rows, by.split(','), names));
}

function usageTable(
  rows: readonly UsageBucket[],
  groups: readonly string[],
  names: ReadonlyMap<string, string>,
): string {
  if (rows.length === 0) return 'No calls in this period.';
  const isHourly = rows.some(({ start_time, end_time }) => end_time - start_time < 86_400);
  const group = (row: UsageBucket, name: string) => {
    if (name === 'key') return names.get(row.key_id ?? '') ?? row.key_id ?? '-';
    return (name === 'model' ? row.model : row.route) ?? '-';
  };
  const counts = ({ requests, prompt_tokens, cached_tokens, completion_tokens }: UsageBucket) =>
    [requests, prompt_tokens, cached_tokens, completion_tokens].map((count) => count.toLocaleString('en-US'));
  const sum = (field: 'requests' | 'prompt_tokens' | 'cached_tokens' | 'completion_tokens' | 'cost_micros') =>
    rows.reduce((total, row) => total + row[field], 0);
  const totals = [sum('requests'), sum('prompt_tokens'), sum('cached_tokens'), sum('completion_tokens')];
  return formatTable([
    [
      isHourly ? 'HOUR (UTC)' : 'DAY',
      ...groups.map((name) => name.toUpperCase()),
      'CALLS',
      'PROMPT',
      'CACHED',
      'COMPLETION',
      'CREDITS',
    ],
    ...rows.map((row) => [
      formatTime(row.start_time).slice(0, isHourly ? 16 : 10),
      ...groups.map((name) => group(row, name)),
      ...counts(row),
      formatCredits(row.cost_micros),
    ]),
    [
      'Total',
      ...groups.map(() => ''),
      ...totals.map((total) => total.toLocaleString('en-US')),
      formatCredits(sum('cost_micros')),
    ],
  ]);
}
