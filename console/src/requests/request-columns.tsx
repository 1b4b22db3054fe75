import { Code, Text } from '@mantine/core';
import type { CSSProperties } from 'react';
import type { Schema } from '../api/types.ts';
import type { Column } from '../ui/data-table.tsx';
import { useFormat } from '../ui/format.ts';
import { useRequestMessages } from './messages.ts';
import type { ColumnName } from './request-search.ts';
import { useClock } from './use-clock.ts';

/** A request of the list. */
export type LoggedRequest = Schema<'LoggedRequest'>;

const NONE = '–';

/** The status with a dot: green for completed, amber for rejected, red for failed requests. */
export function RequestStatus({ status, text = '' }: { status: number; text?: string }) {
  const color = status < 400 ? 'ok' : status < 500 ? 'warn' : 'bad';
  return (
    <span className="status" style={{ '--status-color': `var(--${color})` } as CSSProperties}>
      {status} {text}
    </span>
  );
}

/** The route without the version that all share. */
export const routeName = (route: string): string => route.replace(/^\/(v1\/)?/, '');

const OneLine = ({ text }: { text: string }) => (
  <Text size="sm" truncate maw={260} title={text} span display="inline-block" style={{ verticalAlign: 'middle' }}>
    {text}
  </Text>
);

/** The chosen columns, in their order. The list is sorted by time only, which its index serves. */
export function useRequestColumns(
  names: readonly ColumnName[],
  time: { order: 'asc' | 'desc'; toggle(): void },
): Column<LoggedRequest>[] {
  const messages = useRequestMessages();
  const format = useFormat();
  const clock = useClock();
  const optional = (ms: number | null) => (ms === null ? NONE : format.duration(ms));
  const columns: Readonly<Record<ColumnName, Omit<Column<LoggedRequest>, 'heading'>>> = {
    time: {
      sort: time,
      cell: ({ created_at: at }) => (
        <Text span size="sm" c="dimmed" title={clock.exact(at)}>
          {clock.short(at)}
        </Text>
      ),
    },
    status: { cell: ({ status }) => <RequestStatus status={status} /> },
    route: {
      cell: ({ route, is_batch: isBatch }) => (
        <Code className="plain-code" title={isBatch ? messages.batchLine : route}>
          {isBatch ? 'batch · ' : ''}
          {routeName(route)}
        </Code>
      ),
    },
    model: { cell: ({ model }) => (model === null ? NONE : <OneLine text={model} />) },
    key: { cell: ({ key_name: name, key_id: id }) => <OneLine text={name ?? id} /> },
    tokens: {
      isNumber: true,
      cell: ({ model_calls: calls, prompt_tokens: prompt, completion_tokens: completion }) =>
        calls === 0 ? NONE : format.number(prompt + completion),
    },
    duration: { isNumber: true, cell: ({ duration_ms: ms }) => format.duration(ms) },
    cost: { isNumber: true, cell: ({ cost_micros: cost }) => (cost === 0 ? NONE : format.money(cost)) },
    queue: { isNumber: true, cell: ({ queue_ms: ms }) => format.duration(ms) },
    firstToken: { isNumber: true, cell: ({ first_token_ms: ms }) => optional(ms) },
    decode: { isNumber: true, cell: ({ decode_ms: ms }) => optional(ms) },
    cache: { cell: ({ cache }) => (cache === null ? NONE : messages.caches[cache]) },
    guardrail: { cell: ({ guardrail }) => (guardrail === null ? NONE : messages.guardrails[guardrail]) },
    trace: { cell: ({ trace_id: trace }) => (trace === null ? NONE : <Code title={trace}>{trace.slice(0, 8)}</Code>) },
    error: { cell: ({ error }) => (error === null ? NONE : <OneLine text={error.message} />) },
  };
  return names.map((name) => ({ heading: messages[name], ...columns[name] }));
}
