import { Button, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { api } from '../api/client.ts';
import { ConfirmButton, RowButton } from '../ui/confirm.tsx';
import { DataTable } from '../ui/data-table.tsx';
import { useFormat } from '../ui/format.ts';
import { useCommonMessages } from '../ui/messages.ts';
import { EmptyState, QueryData } from '../ui/states.tsx';
import { StatusBadge } from '../ui/status-badge.tsx';
import { Hint, ItemName, Tag } from '../ui/text.tsx';
import { useModelMessages } from './messages.ts';
import { UpstreamDialog } from './upstream-dialog.tsx';
import { useUpstreamMessages } from './upstream-messages.ts';
import { UpstreamTestDialog } from './upstream-test.tsx';
import { isStored, type StoredUpstream, type Upstream, useUpstreams } from './upstreams.ts';

type OpenDialog = { kind: 'add' } | { kind: 'edit' | 'test'; upstream: StoredUpstream } | null;

/** The servers of models: those of the configuration, which cannot be changed here, and those made here. */
export function UpstreamList({ search }: { search: string }) {
  const texts = useUpstreamMessages();
  const upstreams = useUpstreams();
  const [open, setOpen] = useState<OpenDialog>(null);
  const close = () => setOpen(null);
  const addButton = <Button onClick={() => setOpen({ kind: 'add' })}>{texts.add}</Button>;
  const matches = ({ name, models }: Upstream) => `${name} ${models.join(' ')}`.toLowerCase().includes(search);
  return (
    <Stack gap="md">
      <Group justify="space-between">
        <Hint>{texts.hint}</Hint>
        {addButton}
      </Group>
      <QueryData query={upstreams}>
        {({ data }) =>
          data.length === 0 ? (
            <EmptyState text={texts.empty} />
          ) : (
            <UpstreamTable upstreams={data.filter(matches)} onOpen={setOpen} />
          )
        }
      </QueryData>
      {open?.kind === 'add' && (
        <UpstreamDialog upstream={null} onClose={(added) => setOpen(added && { kind: 'test', upstream: added })} />
      )}
      {open?.kind === 'edit' && <UpstreamDialog upstream={open.upstream} onClose={close} />}
      {open?.kind === 'test' && <UpstreamTestDialog upstream={open.upstream} onClose={close} />}
    </Stack>
  );
}

function UpstreamTable({ upstreams, onOpen }: { upstreams: readonly Upstream[]; onOpen(dialog: OpenDialog): void }) {
  const texts = useUpstreamMessages();
  const common = useCommonMessages();
  return (
    <DataTable<Upstream>
      label={texts.title}
      items={upstreams}
      rowKey={({ id, source, name }) => id ?? `${source} ${name}`}
      columns={[
        {
          heading: common.name,
          cell: ({ name, protocol }) => <ItemName name={name} note={texts.protocols[protocol]} />,
        },
        { heading: texts.urls, cell: ({ base_urls: urls }) => <Text className="breakable">{urls.join(', ')}</Text> },
        { heading: texts.serves, cell: ({ models }) => models.join(', ') || '–' },
        { heading: texts.health, cell: (upstream) => <Health upstream={upstream} /> },
        { heading: texts.source, cell: ({ source }) => <Tag>{texts.sources[source]}</Tag> },
      ]}
      mainAction={(upstream) =>
        isStored(upstream) && (
          <RowButton label={texts.test} name={upstream.name} onClick={() => onOpen({ kind: 'test', upstream })} />
        )
      }
      actions={(upstream) =>
        isStored(upstream) && (
          <>
            <RowButton label={texts.edit} name={upstream.name} onClick={() => onOpen({ kind: 'edit', upstream })} />
            <ConfirmButton
              label={common.delete}
              name={upstream.name}
              text={texts.deleteText}
              action={() =>
                api.DELETE('/v1/admin/upstreams/{upstream_id}', { params: { path: { upstream_id: upstream.id } } })
              }
              refreshes={['upstreams']}
            />
          </>
        )
      }
    />
  );
}

/** The state of each server, with its last error while it is down. */
function Health({ upstream: { servers } }: { upstream: Upstream }) {
  const texts = useUpstreamMessages();
  const models = useModelMessages();
  const format = useFormat();
  if (servers.length === 0) return <Hint>{texts.unbound}</Hint>;
  return (
    <Stack gap={4}>
      {servers.map(({ url, healthy, last_error: error }) => (
        <div key={url}>
          <StatusBadge status={healthy ? 'up' : 'down'} />
          {!healthy && error !== null && (
            <Hint size="xs" className="breakable">
              {models.lastError} ({format.time(error.created_at)}): {error.message}
            </Hint>
          )}
        </div>
      ))}
    </Stack>
  );
}
