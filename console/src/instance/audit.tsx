import { Anchor, Button, Code, Group, Stack, Text } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { api } from '../api/client.ts';
import type { Schema } from '../api/types.ts';
import { AUDIT_ACTIONS } from '../api/values.ts';
import { TextField } from '../ui/fields.tsx';
import { FilterField } from '../ui/filter-field.tsx';
import { useFormat } from '../ui/format.ts';
import { fill } from '../ui/language.tsx';
import { Page } from '../ui/page.tsx';
import { ResourceTable } from '../ui/resource-table.tsx';
import { SearchField } from '../ui/search-field.tsx';
import { type AuditFilter, toAuditQuery } from './audit-filter.ts';
import { useAuditMessages } from './messages.ts';

type AuditEvent = Schema<'AuditEvent'>;

/** The audit log of the instance, newest first. */
export function AuditPage() {
  const audit = useAuditMessages();
  const format = useFormat();
  const filter = useSearch({ from: '/shell/audit' });
  const navigate = useNavigate({ from: '/audit' });
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  const change = (changes: { [Field in keyof AuditFilter]?: string | undefined }) =>
    void navigate({ search: (search) => ({ ...search, ...changes }), replace: true });
  return (
    <Page title={audit.title} intro={audit.intro}>
      <Filter filter={filter} change={change} onClear={isFiltered ? () => void navigate({ search: {} }) : null} />
      <ResourceTable<AuditEvent>
        label={audit.title}
        queryKey={['audit', filter]}
        fetchPage={(page) => {
          const query = { ...page, order: 'desc' as const, ...toAuditQuery(filter) };
          return api.GET('/v1/admin/audit', { params: { query } });
        }}
        empty={isFiltered ? audit.noMatch : audit.empty}
        columns={[
          {
            heading: audit.time,
            cell: (event) => <Text style={{ whiteSpace: 'nowrap' }}>{format.time(event.created_at)}</Text>,
          },
          { heading: audit.action, cell: (event) => <Text fw={500}>{event.action}</Text> },
          {
            heading: audit.actor,
            cell: ({ actor, actor_name: name }) => (
              <FilterLink id={actor} name={name} onFilter={() => change({ actor })} />
            ),
          },
          {
            heading: audit.resource,
            cell: ({ resource_id: resource }) => (
              <FilterLink id={resource} name={null} onFilter={() => change({ resource })} />
            ),
          },
          { heading: audit.address, cell: (event) => event.address ?? '–' },
          { heading: audit.changes, cell: (event) => <Changes changes={event.changes} /> },
        ]}
      />
    </Page>
  );
}

interface FilterProps {
  filter: AuditFilter;
  change(changes: { [Field in keyof AuditFilter]?: string | undefined }): void;
  /** Null while nothing is filtered. */
  onClear: (() => void) | null;
}

function Filter({ filter, change, onClear }: FilterProps) {
  const audit = useAuditMessages();
  const isId = (text: string) => /^[a-z0-9_-]{1,64}$/.test(text);
  const toId = (text: string) => (isId(text) ? text : undefined);
  return (
    <Group align="flex-end" gap="sm">
      <FilterField
        label={audit.action}
        w={{ base: '100%', xs: 200 }}
        placeholder={audit.allActions}
        searchable
        data={AUDIT_ACTIONS}
        value={AUDIT_ACTIONS.find((action) => action === filter.action)}
        onChange={(action) => change({ action })}
      />
      <SearchField
        label={audit.actorId}
        placeholder={audit.actorId}
        value={filter.actor ?? ''}
        onSearch={(text) => change({ actor: toId(text) })}
      />
      <SearchField
        label={audit.resourceId}
        placeholder={audit.resourceId}
        value={filter.resource ?? ''}
        onSearch={(text) => change({ resource: toId(text) })}
      />
      {(['from', 'to'] as const).map((side) => (
        <TextField
          key={side}
          type="date"
          label={audit[side]}
          value={filter[side] ?? ''}
          onChange={(day) => change({ [side]: day || undefined })}
        />
      ))}
      {onClear !== null && (
        <Button variant="subtle" onClick={onClear}>
          {audit.clear}
        </Button>
      )}
    </Group>
  );
}

/** A name, or an id without one, that filters the log by its id. */
function FilterLink({ id, name, onFilter }: { id: string; name: string | null; onFilter(): void }) {
  const audit = useAuditMessages();
  return (
    <Anchor component="button" type="button" ta="start" onClick={onFilter} title={fill(audit.only, { id })}>
      {name ?? <Code>{id}</Code>}
    </Anchor>
  );
}

/** Longest value that is shown, in characters. */
const MAX_VALUE = 120;

const showValue = (value: unknown): string => {
  const text = toText(value);
  return text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}…` : text;
};

/** Strings as they are, lists with commas, objects as the fields that are set. */
function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(toText).join(', ');
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).filter(([, item]) => item !== null);
  return fields.map(([name, item]) => `${name} ${toText(item)}`).join(', ');
}

/** Whether a field has a value, or had one: a created resource has fields that are not set. */
const isSet = ({ from, to }: AuditEvent['changes'][number]): boolean => to !== null || (from ?? null) !== null;

/** Changed fields with their values before and after, where the log has them. */
function Changes({ changes }: { changes: AuditEvent['changes'] }) {
  return (
    <Stack gap={2}>
      {changes.filter(isSet).map(({ field, from, to }) => (
        <Text key={field} size="sm" className="breakable">
          {field}
          {from !== undefined && `: ${showValue(from)}`}
          {to !== undefined && `${from === undefined ? ': ' : ' → '}${showValue(to)}`}
        </Text>
      ))}
    </Stack>
  );
}
