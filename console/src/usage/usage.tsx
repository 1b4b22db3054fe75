import { Button, Group, SimpleGrid } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useSession } from '../api/session.ts';
import { ChoiceField } from '../ui/fields.tsx';
import { useFormat } from '../ui/format.ts';
import { fill } from '../ui/language.tsx';
import { MultiSelect } from '../ui/list-inputs.tsx';
import { Page } from '../ui/page.tsx';
import { Stat } from '../ui/stat.tsx';
import { EmptyState, UnfinishedQueries } from '../ui/states.tsx';
import { useUsageMessages } from './messages.ts';
import { UsageByDay } from './usage-chart.tsx';
import { csvLink, MAX_COMPARED_KEYS, readUsage, USAGE_DAYS, USAGE_GROUPS } from './usage-rows.ts';
import { type UsageSearch, useUsageQuery } from './usage-search.ts';
import { UsageTable } from './usage-table.tsx';

const route = getRouteApi('/shell/usage');
/** Keys to choose from: those with the highest cost. */
const MAX_LISTED_KEYS = 1_000;

/** Usage by day and by model, key or route. */
export function UsagePage() {
  const usage = useUsageMessages();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const query = useUsageQuery(search);
  const change = (next: Partial<UsageSearch>) =>
    void navigate({ search: (previous) => ({ ...previous, ...next }), replace: true });
  const { days, group, keys } = query;
  return (
    <Page
      title={usage.title}
      intro={usage.intro}
      action={
        <Button component="a" variant="default" href={csvLink(days, group, keys)} download="usage.csv">
          {usage.csv}
        </Button>
      }
    >
      <Group align="flex-end">
        <ChoiceField
          label={usage.period}
          values={USAGE_DAYS.map(String)}
          labels={Object.fromEntries(USAGE_DAYS.map((each) => [each, fill(usage.days, { days: each })]))}
          value={String(days)}
          onChange={(value) => change({ days: Number(value) })}
        />
        <ChoiceField
          label={usage.groupBy}
          values={USAGE_GROUPS}
          labels={usage}
          value={group}
          onChange={(value) => change({ group: value })}
        />
        <KeySelect days={days} value={keys} onChange={(next) => change({ keys: next.join(',') || undefined })} />
      </Group>
      <UsageFigures query={query} onMeasure={(measure) => change({ measure })} />
    </Page>
  );
}

interface KeySelectProps {
  days: number;
  value: string[];
  onChange(keys: string[]): void;
}

/** Chooses keys with calls in the period, by name. */
function KeySelect({ days, value, onChange }: KeySelectProps) {
  const usage = useUsageMessages();
  const { organization } = useSession();
  const keys = useQuery({
    queryKey: ['usage-keys', organization.id, days],
    queryFn: () => readUsage(days, { bucket: 'total', group_by: 'key', limit: MAX_LISTED_KEYS }),
  });
  const named = new Map((keys.data?.data ?? []).map((row) => [row.key_id ?? '', row.key_name ?? row.key_id ?? '']));
  const data = [...new Set([...named.keys(), ...value])].map((id) => ({ value: id, label: named.get(id) ?? id }));
  return (
    <MultiSelect
      label={usage.compareKeys}
      {...(value.length === 0 && { placeholder: usage.allKeys })}
      searchable
      clearable
      limit={100}
      maxValues={MAX_COMPARED_KEYS}
      miw={240}
      data={data}
      value={value}
      onChange={onChange}
    />
  );
}

interface UsageFiguresProps {
  query: ReturnType<typeof useUsageQuery>;
  onMeasure(measure: UsageSearch['measure']): void;
}

function UsageFigures({ query, onMeasure }: UsageFiguresProps) {
  const usage = useUsageMessages();
  const format = useFormat();
  const { organization } = useSession();
  const { days, group, keys, measure, filter } = query;
  const byDay = useQuery({
    queryKey: ['usage', organization.id, days, keys],
    queryFn: () => readUsage(days, { bucket: 'day', ...filter, ...(keys.length > 0 && { group_by: 'key' }) }),
  });
  if (byDay.data === undefined) return <UnfinishedQueries queries={[byDay]} />;
  const rows = byDay.data.data;
  if (rows.length === 0) return <EmptyState text={usage.empty} />;
  const sum = (field: 'requests' | 'prompt_tokens' | 'completion_tokens' | 'cost_micros') =>
    rows.reduce((total, row) => total + row[field], 0);
  return (
    <>
      <SimpleGrid cols={{ base: 2, sm: 4 }} spacing="sm">
        <Stat label={usage.requests} value={format.number(sum('requests'))} />
        <Stat label={usage.promptTokens} value={format.number(sum('prompt_tokens'))} />
        <Stat label={usage.completionTokens} value={format.number(sum('completion_tokens'))} />
        <Stat label={usage.cost} value={format.money(sum('cost_micros'))} />
      </SimpleGrid>
      <UsageByDay rows={rows} days={days} keys={keys} measure={measure} onMeasure={onMeasure} />
      <UsageTable days={days} group={group} filter={filter} />
    </>
  );
}
