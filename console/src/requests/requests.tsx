import { Button, Checkbox, Group, Menu, Popover, Select, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { Columns3, ListFilter } from 'lucide-react';
import { api } from '../api/client.ts';
import { useSession } from '../api/session.ts';
import { useModels } from '../api/use-models.ts';
import { SwitchField } from '../ui/fields.tsx';
import { FilterField } from '../ui/filter-field.tsx';
import { useFormat } from '../ui/format.ts';
import { Icon } from '../ui/icon.tsx';
import { Page } from '../ui/page.tsx';
import { ResourceTable } from '../ui/resource-table.tsx';
import { SearchField } from '../ui/search-field.tsx';
import { Segments } from '../ui/segments.tsx';
import { EmptyState } from '../ui/states.tsx';
import { readUsage } from '../usage/usage-rows.ts';
import { useRequestMessages } from './messages.ts';
import { useRequestColumns } from './request-columns.tsx';
import {
  CACHES,
  COLUMNS,
  formatColumns,
  GUARDRAILS,
  isFiltered,
  MIN_DURATIONS,
  NO_FILTERS,
  PERIODS,
  parseColumns,
  type RequestSearch,
  STATUSES,
  toQuery,
} from './request-search.ts';
import { RequestSheet } from './request-sheet.tsx';

/** Milliseconds between reads of the list while it is live. */
const LIVE_MS = 2_000;
/** Lists of a popover belong to it, so that a choice does not close it. */
const INSIDE = { withinPortal: false };
/** Days whose keys can be chosen. */
const KEY_DAYS = 30;
const ROUTES = [
  ...['/v1/chat/completions', '/v1/responses', '/v1/messages', '/v1/completions', '/v1/embeddings', '/v1/rerank'],
  ...['/v1/moderations', '/v1/knowledge-bases/:kb_id/retrieve', '/mcp'],
];

/** The log of requests, newest first, with the open one beside it. */
export function RequestsPage() {
  const messages = useRequestMessages();
  const { organization } = useSession();
  const search = useSearch({ from: '/shell/requests' });
  const navigate = useNavigate({ from: '/requests' });
  const change = (changes: Partial<RequestSearch>) =>
    void navigate({ search: (previous) => ({ ...previous, ...changes }), replace: true });
  const { request: open, columns: chosen, live, ...filter } = search;
  const columns = useRequestColumns(parseColumns(chosen), {
    order: search.order ?? 'desc',
    toggle: () => change({ order: search.order === 'asc' ? undefined : 'asc' }),
  });
  return (
    <RequestSheet id={open ?? null} onClose={() => change({ request: undefined })}>
      <Page
        title={messages.title}
        intro={messages.intro}
        isWide
        action={
          <SwitchField
            label={messages.live}
            checked={live === true}
            onChange={(on) => change({ live: on || undefined })}
          />
        }
      >
        <Filters search={search} change={change} />
        <ResourceTable
          label={messages.title}
          queryKey={['requests', organization.id, filter, live]}
          fetchPage={(page) =>
            api.GET('/v1/requests', { params: { query: { ...toQuery(filter, Date.now()), ...page } } })
          }
          {...(live && { refreshMs: LIVE_MS })}
          columns={columns}
          onOpen={({ id }) => change({ request: id })}
          openKey={open}
          empty={<NoRequests search={search} change={change} />}
        />
      </Page>
    </RequestSheet>
  );
}

interface FilterProps {
  search: RequestSearch;
  change(changes: Partial<RequestSearch>): void;
}

function NoRequests({ search, change }: FilterProps) {
  const messages = useRequestMessages();
  if (!isFiltered(search)) return <EmptyState text={messages.empty} />;
  return (
    <EmptyState text={messages.noMatch}>
      <Button variant="default" onClick={() => change(NO_FILTERS)}>
        {messages.allPeriods}
      </Button>
    </EmptyState>
  );
}

const labelled = <Value extends string>(values: readonly Value[], labels: Readonly<Record<Value, string>>) =>
  values.map((value) => ({ value, label: labels[value] }));

function Filters({ search, change }: FilterProps) {
  const messages = useRequestMessages();
  return (
    <Group gap="xs">
      <SearchField
        label={messages.search}
        placeholder={messages.search}
        value={search.q ?? ''}
        onSearch={(q) => change({ q: q || undefined })}
      />
      <FilterField
        label={messages.status}
        w={150}
        data={labelled(STATUSES, messages.statuses)}
        value={search.status}
        onChange={(status) => change({ status })}
      />
      <FilterField
        label={messages.route}
        w={180}
        searchable
        data={ROUTES}
        value={search.route}
        onChange={(route) => change({ route })}
      />
      <MoreFilters search={search} change={change} />
      <Group gap="xs" ms="auto">
        <Segments
          label={messages.period}
          values={Object.keys(PERIODS) as (keyof typeof PERIODS)[]}
          labels={messages.periods}
          value={search.period ?? '24h'}
          onChange={(period) => change({ period })}
        />
        <ColumnMenu search={search} change={change} />
      </Group>
    </Group>
  );
}

/** The filters that are used less often, behind a button with the number of active ones. */
function MoreFilters({ search, change }: FilterProps) {
  const messages = useRequestMessages();
  const format = useFormat();
  const models = useModels();
  const { model, key, guardrail, cache, min } = search;
  const count = [model, key, guardrail, cache, min].filter((value) => value !== undefined).length;
  return (
    <Popover position="bottom-start" width={260} trapFocus returnFocus>
      <Popover.Target>
        <Button variant="default" leftSection={<Icon icon={ListFilter} />}>
          {messages.filters}
          {count > 0 && ` (${count})`}
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <Stack gap="xs">
          <FilterField
            label={messages.model}
            searchable
            comboboxProps={INSIDE}
            data={(models.data?.data ?? []).map(({ id }) => id)}
            value={model}
            onChange={(value) => change({ model: value })}
          />
          <KeyFilter value={key} onChange={(value) => change({ key: value })} />
          <FilterField
            label={messages.guardrail}
            comboboxProps={INSIDE}
            data={labelled(GUARDRAILS, messages.guardrails)}
            value={guardrail}
            onChange={(value) => change({ guardrail: value })}
          />
          <FilterField
            label={messages.cache}
            comboboxProps={INSIDE}
            data={labelled(CACHES, messages.caches)}
            value={cache}
            onChange={(value) => change({ cache: value })}
          />
          <FilterField
            label={messages.minDuration}
            comboboxProps={INSIDE}
            data={MIN_DURATIONS.map((value) => ({ value, label: `≥ ${format.duration(Number(value))}` }))}
            value={min}
            onChange={(value) => change({ min: value })}
          />
          {isFiltered(search) && (
            <Button variant="default" onClick={() => change(NO_FILTERS)}>
              {messages.allPeriods}
            </Button>
          )}
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}

/** Keys and people with calls, by name. */
function KeyFilter({ value, onChange }: { value: string | undefined; onChange(key: string | undefined): void }) {
  const messages = useRequestMessages();
  const { organization } = useSession();
  const keys = useQuery({
    queryKey: ['usage-keys', organization.id, KEY_DAYS],
    queryFn: () => readUsage(KEY_DAYS, { bucket: 'total', group_by: 'key', limit: 1_000 }),
  });
  const named = new Map((keys.data?.data ?? []).map(({ key_id: id, key_name: name }) => [id ?? '', name ?? id ?? '']));
  if (value !== undefined && !named.has(value)) named.set(value, value);
  return (
    <Select
      aria-label={messages.key}
      placeholder={messages.key}
      comboboxProps={INSIDE}
      searchable
      clearable
      limit={100}
      data={[...named].map(([id, label]) => ({ value: id, label }))}
      value={value ?? null}
      onChange={(id) => onChange(id ?? undefined)}
    />
  );
}

function ColumnMenu({ search, change }: FilterProps) {
  const messages = useRequestMessages();
  const shown = parseColumns(search.columns);
  return (
    <Menu position="bottom-end" closeOnItemClick={false}>
      <Menu.Target>
        <Button variant="default" leftSection={<Icon icon={Columns3} />}>
          {messages.columns}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {COLUMNS.map((name) => {
          const isShown = shown.includes(name);
          const next = isShown ? shown.filter((column) => column !== name) : [...shown, name];
          return (
            <Menu.Item
              key={name}
              role="menuitemcheckbox"
              aria-checked={isShown}
              disabled={next.length === 0}
              leftSection={<Checkbox.Indicator checked={isShown} size="xs" />}
              onClick={() => change({ columns: formatColumns(next) })}
            >
              {messages[name]}
            </Menu.Item>
          );
        })}
      </Menu.Dropdown>
    </Menu>
  );
}
