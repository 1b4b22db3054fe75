import { Alert, Code, Group, ScrollArea, SimpleGrid, Stack } from '@mantine/core';
import { BATCH_LIMITS } from '../api/values.ts';
import { DataTable } from '../ui/data-table.tsx';
import { Fact } from '../ui/fact.tsx';
import { useFormat } from '../ui/format.ts';
import { fill } from '../ui/language.tsx';
import { Tag } from '../ui/text.tsx';
import type { BatchCheck, LineDefect } from './check-batch-file.ts';
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
  const limits = { lines: format.number(BATCH_LIMITS.max_lines), size: format.bytes(BATCH_LIMITS.max_line_bytes) };
  const describe = ({ code }: LineDefect) => fill(batches.defects[code], limits);
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
      {check.defects.length > 0 && (
        <ScrollArea.Autosize mah={240} viewportProps={{ tabIndex: 0, role: 'region', 'aria-label': batches.errors }}>
          <LineTable
            items={check.defects.map((defect) => ({ ...defect, reason: describe(defect), code: defect.param }))}
          />
        </ScrollArea.Autosize>
      )}
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
            <Tag key={model} color={isKnown ? 'gray' : 'red'} miw={0} maw="100%">
              {model === '' ? '–' : model} · {format.number(count)}
              {!isKnown && ` · ${batches.unavailable}`}
            </Tag>
          );
        })}
      </Group>
    </Fact>
  );
}

interface LineTableProps {
  /** `line`: null: the whole file. `code`: a field, or the code of the error. */
  items: readonly { line: number | null; reason: string; code: string | null }[];
}

/** Table of invalid lines of a batch file, with their errors. */
export function LineTable({ items }: LineTableProps) {
  const batches = useBatchMessages();
  const format = useFormat();
  return (
    <DataTable
      label={batches.errors}
      items={items}
      rowKey={({ line, code }) => `${line} ${code}`}
      columns={[
        { heading: batches.line, cell: ({ line }) => (line === null ? '–' : format.number(line)) },
        {
          heading: batches.reason,
          cell: ({ reason, code }) => (
            <>
              {reason} {code !== null && <Code>{code}</Code>}
            </>
          ),
        },
      ]}
    />
  );
}
