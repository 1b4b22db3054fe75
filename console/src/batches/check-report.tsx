import { Alert, Badge, Code, Group, ScrollArea, SimpleGrid, Stack, Table } from '@mantine/core';
import { Fact } from '../ui/fact.tsx';
import { useFormat } from '../ui/format.ts';
import { fill } from '../ui/language.tsx';
import type { BatchCheck } from './check-batch-file.ts';
import { useBatchMessages } from './messages.ts';

/** Models that are named; files with more would not fit the dialog. */
const MAX_SHOWN_MODELS = 12;

interface BatchCheckReportProps {
  file: File;
  check: BatchCheck;
  /** Ids of the models of the service; null: not read yet. */
  knownModels: readonly string[] | null;
}

/** What the check of a file has found. */
export function BatchCheckReport({ file, check, knownModels }: BatchCheckReportProps) {
  const batches = useBatchMessages();
  const format = useFormat();
  return (
    <Stack aria-live="polite">
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <Fact label={batches.file}>
          {file.name} · {format.bytes(file.size)}
        </Fact>
        <Fact label={batches.requests}>{format.number(check.requests)}</Fact>
        <Fact label={batches.endpoint}>{check.endpoint ?? '–'}</Fact>
        <Fact label={batches.estimatedTokens}>{format.number(check.promptTokens)}</Fact>
      </SimpleGrid>
      <ModelCounts check={check} knownModels={knownModels} />
      <CheckResult check={check} knownModels={knownModels} />
      {check.defects.length > 0 && <DefectTable check={check} />}
    </Stack>
  );
}

function CheckResult({ check, knownModels }: Pick<BatchCheckReportProps, 'check' | 'knownModels'>) {
  const { requests, defects, isComplete } = check;
  const batches = useBatchMessages();
  const format = useFormat();
  if (requests === 0) return <Alert color="red" title={batches.noRequests} />;
  const unknown = [...check.models.keys()].filter((model) => knownModels?.includes(model) === false);
  if (defects.length === 0 && unknown.length > 0) {
    const models = unknown.slice(0, MAX_SHOWN_MODELS).join(', ');
    return <Alert color="red" role="alert" title={fill(batches.unknownModels, { models })} />;
  }
  if (defects.length === 0) return <Alert color="teal" title={batches.valid} />;
  return (
    <Alert color="red" role="alert" title={fill(batches.invalid, { count: format.number(defects.length) })}>
      {!isComplete && fill(batches.stopped, { count: format.number(defects.length) })}
    </Alert>
  );
}

function ModelCounts({ check, knownModels }: Pick<BatchCheckReportProps, 'check' | 'knownModels'>) {
  const batches = useBatchMessages();
  const format = useFormat();
  if (check.models.size === 0) return null;
  return (
    <Fact label={batches.models}>
      <Group gap={6}>
        {[...check.models].slice(0, MAX_SHOWN_MODELS).map(([model, count]) => {
          const isKnown = knownModels === null || knownModels.includes(model);
          return (
            <Badge key={model} variant="light" color={isKnown ? 'gray' : 'red'} tt="none" maw="100%">
              {model === '' ? '–' : model} · {format.number(count)}
              {!isKnown && ` · ${batches.unavailable}`}
            </Badge>
          );
        })}
      </Group>
    </Fact>
  );
}

function DefectTable({ check }: { check: BatchCheck }) {
  const batches = useBatchMessages();
  const format = useFormat();
  return (
    <ScrollArea.Autosize mah={240} viewportProps={{ tabIndex: 0, role: 'region', 'aria-label': batches.errors }}>
      <Table aria-label={batches.errors}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{batches.line}</Table.Th>
            <Table.Th>{batches.reason}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {check.defects.map(({ line, code, param }) => (
            <Table.Tr key={line}>
              <Table.Td>{format.number(line)}</Table.Td>
              <Table.Td>
                {batches.defects[code]} {param !== null && <Code>{param}</Code>}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </ScrollArea.Autosize>
  );
}
