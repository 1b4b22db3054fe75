import { Stack, Text } from '@mantine/core';
import { DataTable, numberColumn } from '../ui/data-table.tsx';
import { useFormat } from '../ui/format.ts';
import { fill } from '../ui/language.tsx';
import { useCommonMessages, useStatusMessages } from '../ui/messages.ts';
import { Section } from '../ui/page.tsx';
import { QueryData } from '../ui/states.tsx';
import { StatusBadge } from '../ui/status-badge.tsx';
import { Hint, ItemName } from '../ui/text.tsx';
import { type EngineStatus, useEngines } from './engines.ts';
import { useModelMessages } from './messages.ts';

/** State of every engine and of the servers behind it. */
export function EngineHealth() {
  const models = useModelMessages();
  const engines = useEngines();
  return (
    <Section title={models.engines}>
      <QueryData query={engines}>{({ data }) => <EngineTable engines={data} />}</QueryData>
    </Section>
  );
}

function EngineTable({ engines }: { engines: readonly EngineStatus[] }) {
  const models = useModelMessages();
  const common = useCommonMessages();
  const format = useFormat();
  return (
    <DataTable<EngineStatus>
      label={models.engines}
      items={engines}
      rowKey={(engine) => `${engine.engine} ${engine.name} ${engine.models.join()}`}
      columns={[
        { heading: models.engine, cell: ({ name, engine }) => <ItemName name={name} note={engine} /> },
        { heading: common.status, cell: (engine) => <EngineState engine={engine} /> },
        { heading: models.serves, cell: (engine) => engine.models.join(', ') },
        numberColumn(models.slots, (engine) => slotText(engine, models)),
        numberColumn(models.memory, ({ memory_bytes: bytes }) => (bytes === null ? '–' : format.bytes(bytes))),
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
        <Text size="sm" className="breakable">
          {engine.error}
        </Text>
      )}
      {engine.servers.map(({ url, healthy, in_flight, last_error }) => (
        <div key={url}>
          <Text size="sm" className="breakable">
            {url} · {healthy ? fill(models.inFlight, { count: in_flight }) : names.down}
          </Text>
          {last_error !== null && (
            <Hint size="xs" className="breakable">
              {models.lastError} ({format.time(last_error.created_at)}): {last_error.message}
            </Hint>
          )}
        </div>
      ))}
    </Stack>
  );
}
