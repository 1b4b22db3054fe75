import { Stack, Text, Title } from '@mantine/core';
import { DataTable } from '../ui/data-table.tsx';
import { useFormat } from '../ui/format.ts';
import { fill } from '../ui/language.tsx';
import { useCommonMessages, useStatusMessages } from '../ui/messages.ts';
import { ErrorState, LoadingState } from '../ui/states.tsx';
import { StatusBadge } from '../ui/status-badge.tsx';
import { type EngineStatus, useEngines } from './engines.ts';
import { useModelMessages } from './messages.ts';

/** State of every engine and of the servers behind it. */
export function EngineHealth() {
  const models = useModelMessages();
  const engines = useEngines();
  return (
    <Stack gap="sm">
      <Title order={2} size="h4">
        {models.engines}
      </Title>
      {engines.isPending && <LoadingState />}
      {engines.isError && <ErrorState error={engines.error} onRetry={() => void engines.refetch()} />}
      {engines.isSuccess && <EngineTable engines={engines.data.data} />}
    </Stack>
  );
}

function EngineTable({ engines }: { engines: readonly EngineStatus[] }) {
  const models = useModelMessages();
  const common = useCommonMessages();
  const format = useFormat();
  return (
    <DataTable
      label={models.engines}
      items={engines}
      rowKey={(engine) => `${engine.engine} ${engine.name} ${engine.models.join()}`}
      columns={[
        {
          heading: models.engine,
          cell: ({ name, engine }) => (
            <div>
              <Text size="sm" fw={500}>
                {name}
              </Text>
              <Text size="xs" c="dimmed">
                {engine}
              </Text>
            </div>
          ),
        },
        { heading: common.status, cell: (engine) => <EngineState engine={engine} /> },
        { heading: models.serves, cell: (engine) => engine.models.join(', ') },
        { heading: models.slots, cell: (engine) => slotText(engine, models), isNumber: true },
        {
          heading: models.memory,
          cell: ({ memory_bytes }) => (memory_bytes === null ? '–' : format.bytes(memory_bytes)),
          isNumber: true,
        },
      ]}
    />
  );
}

function slotText({ slots }: EngineStatus, texts: { slotsBusy: string; waiting: string }): string {
  if (slots === null || slots.allocated === 0) return '–';
  const busy = fill(texts.slotsBusy, { running: slots.running, allocated: slots.allocated });
  return slots.waiting === 0 ? busy : `${busy}, ${fill(texts.waiting, { waiting: slots.waiting })}`;
}

/** The state of an engine, its error, and the servers of an upstream with their last errors. */
export function EngineState({ engine }: { engine: EngineStatus }) {
  const models = useModelMessages();
  const names = useStatusMessages();
  const format = useFormat();
  const statuses = { ready: 'up', 'not loaded': 'not_loaded', failed: 'down' } as const;
  return (
    <Stack gap={4} align="flex-start">
      <StatusBadge status={statuses[engine.state]} />
      {engine.error !== null && (
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          {engine.error}
        </Text>
      )}
      {engine.servers.map(({ url, healthy, in_flight, last_error }) => (
        <div key={url}>
          <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
            {url} · {healthy ? fill(models.inFlight, { count: in_flight }) : names.down}
          </Text>
          {last_error !== null && (
            <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
              {models.lastError} ({format.time(last_error.created_at)}): {last_error.message}
            </Text>
          )}
        </div>
      ))}
    </Stack>
  );
}
