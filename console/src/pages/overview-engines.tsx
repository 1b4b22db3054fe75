import { Stack, Table, Text, Title } from '@mantine/core';
import { type EngineStatus, useEngines } from '../api/engines.ts';
import { useFormat } from '../components/format.ts';
import { ErrorState, LoadingState } from '../components/states.tsx';
import { StatusBadge } from '../components/status-badge.tsx';
import { fill, useMessages } from '../messages/index.tsx';

/** State of every engine and of the servers behind it. */
export function EngineHealth() {
  const { overview } = useMessages();
  const engines = useEngines();
  return (
    <Stack gap="sm">
      <Title order={2} size="h4">
        {overview.engines}
      </Title>
      {engines.isPending && <LoadingState />}
      {engines.isError && <ErrorState error={engines.error} onRetry={() => void engines.refetch()} />}
      {engines.isSuccess && <EngineTable engines={engines.data.data} />}
    </Stack>
  );
}

/** A table of engines. */
function EngineTable({ engines }: { engines: readonly EngineStatus[] }) {
  const { overview, models, common } = useMessages();
  const format = useFormat();
  return (
    <Table.ScrollContainer minWidth={720} scrollAreaProps={{ viewportProps: { tabIndex: 0 } }}>
      <Table aria-label={overview.engines} verticalSpacing="sm">
        <Table.Thead>
          <Table.Tr>
            {[models.engine, common.status, overview.serves].map((heading) => (
              <Table.Th key={heading}>{heading}</Table.Th>
            ))}
            <Table.Th ta="end">{overview.slots}</Table.Th>
            <Table.Th ta="end">{overview.memory}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {engines.map((engine) => (
            <Table.Tr key={`${engine.engine} ${engine.name} ${engine.models.join()}`}>
              <Table.Td>
                <Text size="sm" fw={500}>
                  {engine.name}
                </Text>
                <Text size="xs" c="dimmed">
                  {engine.engine}
                </Text>
              </Table.Td>
              <Table.Td>
                <EngineState engine={engine} />
              </Table.Td>
              <Table.Td>{engine.models.join(', ')}</Table.Td>
              <Table.Td ta="end">{slotText(engine, overview)}</Table.Td>
              <Table.Td ta="end">{engine.memory_bytes === null ? '–' : format.bytes(engine.memory_bytes)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function slotText({ slots }: EngineStatus, texts: { slotsBusy: string; waiting: string }): string {
  if (slots === null || slots.allocated === 0) return '–';
  const busy = fill(texts.slotsBusy, { running: slots.running, allocated: slots.allocated });
  return slots.waiting === 0 ? busy : `${busy}, ${fill(texts.waiting, { waiting: slots.waiting })}`;
}

/** The state of an engine, its error, and the servers of an upstream with their last errors. */
export function EngineState({ engine }: { engine: EngineStatus }) {
  const { overview } = useMessages();
  const format = useFormat();
  const states = { ready: overview.up, 'not loaded': overview.notLoaded, failed: overview.down } as const;
  const colors = { ready: 'ready', 'not loaded': 'queued', failed: 'failed' } as const;
  return (
    <Stack gap={4} align="flex-start">
      <StatusBadge status={colors[engine.state]} label={states[engine.state]} />
      {engine.error !== null && (
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          {engine.error}
        </Text>
      )}
      {engine.servers.map(({ url, healthy, in_flight, last_error }) => (
        <div key={url}>
          <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
            {url} · {healthy ? fill(overview.inFlight, { count: in_flight }) : overview.down}
          </Text>
          {last_error !== null && (
            <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
              {overview.lastError} ({format.time(last_error.created_at)}): {last_error.message}
            </Text>
          )}
        </div>
      ))}
    </Stack>
  );
}
