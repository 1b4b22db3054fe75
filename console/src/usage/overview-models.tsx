import { Anchor } from '@mantine/core';
import { DataTable, numberColumn } from '../ui/data-table.tsx';
import { useFormat } from '../ui/format.ts';
import { useOverviewMessages, useUsageMessages } from './messages.ts';
import { type Figures, hitRate, type Summary } from './summary.ts';

type ModelFigure = Summary['models'][number];

interface ModelFiguresProps {
  models: readonly ModelFigure[];
  onModel(model: string): void;
}

/** The figures of each model. The name of a model shows its charts. */
export function ModelFigures({ models, onModel }: ModelFiguresProps) {
  const overview = useOverviewMessages();
  const usage = useUsageMessages();
  const format = useFormat();
  const times = (value: Figures['latency_ms']) =>
    value === null ? '–' : `${format.duration(value.p50)} / ${format.duration(value.p95)}`;
  const columns = [
    {
      heading: usage.model,
      cell: ({ model }: ModelFigure) => (
        <Anchor component="button" type="button" size="sm" ta="start" onClick={() => onModel(model)}>
          {model}
        </Anchor>
      ),
    },
    numberColumn<ModelFigure>(usage.requests, ({ requests }) => format.number(requests)),
    numberColumn<ModelFigure>(overview.errors, ({ failed }) => format.number(failed)),
    numberColumn<ModelFigure>(overview.tokens, ({ prompt_tokens, completion_tokens }) =>
      format.number(prompt_tokens + completion_tokens),
    ),
    numberColumn<ModelFigure>(overview.firstToken, ({ first_token_ms }) => times(first_token_ms)),
    numberColumn<ModelFigure>(overview.latency, ({ latency_ms }) => times(latency_ms)),
    numberColumn<ModelFigure>(overview.cacheRate, (figures) => format.optionalPercent(hitRate(figures))),
    numberColumn<ModelFigure>(usage.cost, ({ cost_micros }) => format.money(cost_micros)),
  ];
  return <DataTable label={overview.byModel} items={models} columns={columns} rowKey={({ model }) => model} />;
}
