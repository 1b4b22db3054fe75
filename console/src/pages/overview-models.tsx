import { Anchor, Table } from '@mantine/core';
import { type Figures, hitRate, type Summary } from '../api/summary.ts';
import { useFormat } from '../components/format.ts';
import { useMessages } from '../messages/index.tsx';

interface ModelFiguresProps {
  models: Summary['models'];
  onModel(model: string): void;
}

/** The figures of each model. The name of a model shows its charts. */
export function ModelFigures({ models, onModel }: ModelFiguresProps) {
  const { overview, usage } = useMessages();
  const format = useFormat();
  const times = (value: Figures['latency_ms']) =>
    value === null ? '–' : `${format.duration(value.p50)} / ${format.duration(value.p95)}`;
  const columns: [heading: string, cell: (figures: Figures) => string][] = [
    [usage.requests, ({ requests }) => format.number(requests)],
    [overview.errors, ({ failed }) => format.number(failed)],
    [overview.tokens, ({ prompt_tokens, completion_tokens }) => format.number(prompt_tokens + completion_tokens)],
    [`${overview.firstToken} p50 / p95`, ({ first_token_ms }) => times(first_token_ms)],
    [`${overview.latency} p50 / p95`, ({ latency_ms }) => times(latency_ms)],
    [overview.cacheRate, (figures) => format.optionalPercent(hitRate(figures))],
    [usage.cost, ({ cost_micros }) => format.money(cost_micros)],
  ];
  return (
    <Table.ScrollContainer minWidth={860} scrollAreaProps={{ viewportProps: { tabIndex: 0 } }}>
      <Table aria-label={overview.byModel}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{usage.model}</Table.Th>
            {columns.map(([heading]) => (
              <Table.Th key={heading} ta="end">
                {heading}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {models.map(({ model, ...figures }) => (
            <Table.Tr key={model}>
              <Table.Td>
                <Anchor component="button" type="button" onClick={() => onModel(model)}>
                  {model}
                </Anchor>
              </Table.Td>
              {columns.map(([heading, cell]) => (
                <Table.Td key={heading} ta="end">
                  {cell(figures)}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}
