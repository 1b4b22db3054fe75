import { Code, Text } from '@mantine/core';
import { api, body } from '../api/client.ts';
import type { paths } from '../api/schema.d.ts';
import { useFormat } from '../components/format.ts';
import { Page } from '../components/page.tsx';
import { ResourceTable } from '../components/resource-table.tsx';
import { useMessages } from '../messages/index.tsx';

type AuditEvent = paths['/v1/admin/audit']['get']['responses'][200]['content']['application/json']['data'][number];

/** The audit log of the instance. */
export function AuditPage() {
  const { audit } = useMessages();
  const format = useFormat();
  return (
    <Page title={audit.title} intro={audit.intro}>
      <ResourceTable<AuditEvent>
        label={audit.title}
        queryKey={['audit']}
        fetchPage={(after) => body(api.GET('/v1/admin/audit', { params: { query: { after, limit: 50 } } }))}
        rowKey={(event) => event.id}
        empty={audit.empty}
        columns={[
          { heading: audit.time, cell: (event) => format.time(event.created_at) },
          { heading: audit.action, cell: (event) => <Text fw={500}>{event.action}</Text> },
          { heading: audit.actor, cell: (event) => <Code>{event.actor}</Code> },
          { heading: audit.resource, cell: (event) => <Code>{event.resource_id}</Code> },
          { heading: audit.address, cell: (event) => event.address ?? '–' },
          { heading: audit.changes, cell: (event) => event.changes.map(({ field }) => field).join(', ') },
        ]}
      />
    </Page>
  );
}
