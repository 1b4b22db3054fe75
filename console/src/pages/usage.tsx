import { Anchor, Group, Select, Table } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useSession } from '../api/session.ts';
import { readUsage, startOfPeriod, sumBy, type UsageGroup, type UsageRow, type UsageTotals } from '../api/usage.ts';
import { useFormat } from '../components/format.ts';
import { Page } from '../components/page.tsx';
import { EmptyState, ErrorState, LoadingState } from '../components/states.tsx';
import { UsageChart } from '../components/usage-chart.tsx';
import { fill, useMessages } from '../messages/index.tsx';

const PERIODS = [7, 30, 90] as const;

/** Usage by day and by model, key or route. */
export function UsagePage() {
  const { usage } = useMessages();
  const { organization } = useSession();
  const [days, setDays] = useState<number>(30);
  const [group, setGroup] = useState<UsageGroup>('model');
  const query = useQuery({ queryKey: ['usage', organization.id, days, group], queryFn: () => readUsage(days, group) });
  const csv = `/v1/usage?format=csv&bucket=day&group_by=${group}&start_time=${startOfPeriod(days)}`;
  return (
    <Page
      title={usage.title}
      intro={usage.intro}
      action={
        <Anchor href={csv} download="usage.csv">
          {usage.csv}
        </Anchor>
      }
    >
      <Group>
        <Select
          aria-label={fill(usage.days, { days: '' })}
          allowDeselect={false}
          data={PERIODS.map((value) => ({ value: String(value), label: fill(usage.days, { days: value }) }))}
          value={String(days)}
          onChange={(value) => value !== null && setDays(Number(value))}
        />
        <Select
          aria-label={usage.groupBy}
          allowDeselect={false}
          data={(['model', 'key', 'route'] as const).map((value) => ({ value, label: usage[value] }))}
          value={group}
          onChange={(value) => value !== null && setGroup(value as UsageGroup)}
        />
      </Group>
      {query.isPending && <LoadingState />}
      {query.isError && <ErrorState error={query.error} onRetry={() => void query.refetch()} />}
      {query.isSuccess &&
        (query.data.length === 0 ? (
          <EmptyState text={usage.empty} />
        ) : (
          <>
            <UsageChart rows={query.data} days={days} />
            <UsageTable rows={query.data} group={group} />
          </>
        ))}
    </Page>
  );
}

/** Sums of rows by group. */
export function UsageTable({ rows, group }: { rows: readonly UsageRow[]; group: UsageGroup }) {
  const { usage } = useMessages();
  const name = (row: UsageRow) => ({ model: row.model, key: row.key_id, route: row.route })[group] ?? '–';
  const headings = [usage.requests, usage.promptTokens, usage.cachedTokens, usage.completionTokens, usage.cost];
  return (
    <Table.ScrollContainer minWidth={640}>
      <Table aria-label={usage.title}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{usage[group]}</Table.Th>
            {headings.map((heading) => (
              <Table.Th key={heading} ta="end">
                {heading}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {sumBy(rows, name).map(([key, sum]) => (
            <SumRow key={key} label={key} sum={sum} />
          ))}
          {sumBy(rows, () => usage.total).map(([key, sum]) => (
            <SumRow key="total" label={key} sum={sum} isTotal />
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function SumRow({ label, sum, isTotal = false }: { label: string; sum: UsageTotals; isTotal?: boolean }) {
  const format = useFormat();
  const counts = [sum.requests, sum.prompt_tokens, sum.cached_tokens, sum.completion_tokens];
  return (
    <Table.Tr fw={isTotal ? 650 : undefined}>
      <Table.Td>{label}</Table.Td>
      {counts.map((count, column) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the columns are fixed.
        <Table.Td key={column} ta="end">
          {format.number(count)}
        </Table.Td>
      ))}
      <Table.Td ta="end">{format.money(sum.cost_micros)}</Table.Td>
    </Table.Tr>
  );
}
