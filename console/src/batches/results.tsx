import { Button, Code, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { type Column, numberColumn } from '../ui/data-table.tsx';
import { Modal } from '../ui/dialogs.tsx';
import { useFormat } from '../ui/format.ts';
import { fill } from '../ui/language.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { ResourceTable } from '../ui/resource-table.tsx';
import { Hint, Tag } from '../ui/text.tsx';
import { useBatchMessages } from './messages.ts';
import { type BatchResult, type ResultFiles, readResults } from './read-results.ts';

/** Characters of a text in the table. */
const PREVIEW_CHARACTERS = 160;
/** Characters of a JSON value in the dialog: more would stall the page. */
const SHOWN_CHARACTERS = 20_000;

/** The results of a batch, read from its file page by page. */
export function BatchResults({ files }: { files: ResultFiles }) {
  const batches = useBatchMessages();
  const [shown, setShown] = useState<BatchResult | null>(null);
  const columns = useColumns(setShown);
  return (
    <>
      <ResourceTable<BatchResult>
        label={batches.output}
        queryKey={['batch-results', files.results]}
        fetchPage={async ({ after }) => ({ data: await readResults(files, after) })}
        empty={batches.noResults}
        columns={columns}
      />
      <Modal opened={shown !== null} onClose={() => setShown(null)} title={shown?.customId} size="xl">
        {shown !== null && (
          <Stack>
            <JsonBlock label={batches.request} value={shown.request} />
            <JsonBlock label={batches.answer} value={shown.response?.body ?? shown.error} />
          </Stack>
        )}
      </Modal>
    </>
  );
}

function useColumns(onShow: (result: BatchResult) => void): Column<BatchResult>[] {
  const batches = useBatchMessages();
  const common = useCommonMessages();
  const format = useFormat();
  return [
    {
      heading: batches.customId,
      cell: (result) => (
        <Button
          size="compact-sm"
          variant="subtle"
          maw={180}
          onClick={() => onShow(result)}
          aria-label={fill(batches.show, { id: result.customId })}
        >
          {result.customId}
        </Button>
      ),
    },
    { heading: batches.request, cell: ({ request }) => <Preview text={requestText(request)} /> },
    {
      heading: batches.answer,
      cell: ({ response, error }) => <Preview text={error?.message ?? responseText(response?.body)} />,
    },
    {
      heading: common.status,
      cell: ({ response, error }) => (
        <Tag color={error === null ? 'teal' : 'red'}>{response?.status ?? batches.notRun}</Tag>
      ),
    },
    numberColumn(batches.tokens, ({ response }) => {
      const tokens = readPath(response?.body, 'usage', 'total_tokens');
      return typeof tokens === 'number' ? format.number(tokens) : '–';
    }),
  ];
}

function Preview({ text }: { text: string }) {
  return (
    <Text size="sm" lineClamp={2} className="breakable">
      {text === '' ? '–' : text.slice(0, PREVIEW_CHARACTERS)}
    </Text>
  );
}

function JsonBlock({ label, value }: { label: string; value: unknown }) {
  const batches = useBatchMessages();
  const text = value === null || value === undefined ? '–' : JSON.stringify(value, null, 2);
  return (
    <div>
      <Text fw={500} size="sm" mb={4}>
        {label}
      </Text>
      <Code block tabIndex={0} style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
        {text.slice(0, SHOWN_CHARACTERS)}
      </Code>
      {text.length > SHOWN_CHARACTERS && <Hint>{batches.truncated}</Hint>}
    </div>
  );
}

/** The last message, the prompt or the texts to embed. */
function requestText(request: unknown): string {
  const messages = readPath(request, 'messages');
  const content = Array.isArray(messages) ? readPath(messages.at(-1), 'content') : null;
  return toText(content ?? readPath(request, 'prompt') ?? readPath(request, 'input') ?? messages);
}

/** The text of the first choice, or the beginning of the first vector. */
function responseText(body: unknown): string {
  const choice = readPath(body, 'choices', '0');
  return toText(
    readPath(choice, 'message', 'content') ?? readPath(choice, 'text') ?? readPath(body, 'data', '0', 'embedding'),
  );
}

function toText(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value).slice(0, PREVIEW_CHARACTERS);
}

function readPath(value: unknown, ...path: string[]): unknown {
  return path.reduce<unknown>(
    (at, key) => (typeof at === 'object' && at !== null ? (at as Record<string, unknown>)[key] : undefined),
    value,
  );
}
