import { useSession } from '../api/session.ts';
import { numberColumn } from '../ui/data-table.tsx';
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
  return (
    <ResourceTable<UsageRow>
      label={usage.title}
      queryKey={['usage-groups', organization.id, days, group, filter]}
      fetchPage={async (page) => ({
        data: await readUsage(days, { bucket: 'total', group_by: group, ...page, ...filter }),
      })}
      rowKey={(row) => row.model ?? row.key_id ?? row.route ?? ''}
      empty={usage.empty}
      columns={[
        { heading: usage[group], cell: name },
        numberColumn(usage.requests, (row) => format.number(row.requests)),
        numberColumn(usage.promptTokens, (row) => format.number(row.prompt_tokens)),
        numberColumn(usage.cachedTokens, (row) => format.number(row.cached_tokens)),
        numberColumn(usage.completionTokens, (row) => format.number(row.completion_tokens)),
        numberColumn(usage.cost, (row) => format.money(row.cost_micros)),
      ]}
    />
  );
}
