import { useSession } from '../api/session.ts';
import { useFormat } from '../ui/format.ts';
import { fill } from '../ui/language.tsx';
import { ResourceTable } from '../ui/resource-table.tsx';
import { useUsageMessages } from './messages.ts';
import { readUsage, type UsageGroup, type UsageRow } from './usage-rows.ts';

interface UsageTableProps {
  days: number;
  group: UsageGroup;
  filter: { key_id?: string };
}

/** Sums of the period by group, the most expensive first, a page at a time. */
export function UsageTable({ days, group, filter }: UsageTableProps) {
  const usage = useUsageMessages();
  const format = useFormat();
  const { organization } = useSession();
  const name = (row: UsageRow) =>
    ({ model: row.model, key: row.key_name ?? fill(usage.deletedKey, { id: row.key_id ?? '' }), route: row.route })[
      group
    ] ?? '–';
  const number = (heading: string, cell: (row: UsageRow) => string) => ({ heading, cell, isNumber: true });
  return (
    <ResourceTable<UsageRow>
      label={usage.title}
      queryKey={['usage-groups', organization.id, days, group, filter]}
      fetchPage={(after) =>
        readUsage(days, {
          bucket: 'total',
          group_by: group,
          limit: 50,
          ...filter,
          ...(after !== undefined && { after }),
        })
      }
      rowKey={(row) => row.model ?? row.key_id ?? row.route ?? ''}
      empty={usage.empty}
      columns={[
        { heading: usage[group], cell: name },
        number(usage.requests, (row) => format.number(row.requests)),
        number(usage.promptTokens, (row) => format.number(row.prompt_tokens)),
        number(usage.cachedTokens, (row) => format.number(row.cached_tokens)),
        number(usage.completionTokens, (row) => format.number(row.completion_tokens)),
        number(usage.cost, (row) => format.money(row.cost_micros)),
      ]}
    />
  );
}
