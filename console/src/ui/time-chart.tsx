import { Paper, ScrollArea, Skeleton, Table, Text, Title } from '@mantine/core';
import { useMemo } from 'react';
import { useFormat } from './format.ts';
import { useLanguage } from './language.tsx';
import { lazyPart } from './lazy-part.tsx';
import { useCommonMessages } from './messages.ts';
import type { Series, TimeChartData } from './time-series.ts';

const TimePlot = lazyPart(() => import('./time-plot.tsx'), 'default', <Skeleton height={230} />);

const DAY_SECONDS = 86_400;

interface TimeChartProps extends TimeChartData {
  /** Times are the starts of UTC days. Default: moments, in local time. */
  isDays?: boolean;
}

/** A chart over time, with the same figures as a table below it. */
export function TimeChart({ label, times, series, format, isBars = false, isDays = false }: TimeChartProps) {
  const common = useCommonMessages();
  const { tick, time } = useTimeFormats(times, isDays);
  const isEmpty = series.every(({ values }) => values.every((value) => value === null || value === 0));
  return (
    <Paper withBorder p="md" component="section" aria-label={label}>
      <Title order={2} size="h6" mb="xs">
        {label}
      </Title>
      {isEmpty ? (
        <Text c="dimmed" size="sm" py="xl" ta="center">
          {common.noData}
        </Text>
      ) : (
        <>
          <TimePlot
            label={describe(label, series, format)}
            timeLabel={common.time}
            times={times}
            series={series}
            format={format}
            isBars={isBars}
            tick={tick}
            time={time}
          />
          <details>
            <Text component="summary" size="sm" style={{ cursor: 'pointer' }}>
              {common.showTable}
            </Text>
            <ChartTable label={label} times={times} series={series} format={format} time={time} />
          </details>
        </>
      )}
    </Paper>
  );
}

/** The chart in a sentence: the greatest value of each series. */
const describe = (label: string, series: readonly Series[], format: (value: number) => string): string => {
  const parts = series.map(({ label: name, values }) => {
    const present = values.filter((value) => value !== null);
    return `${name}: max. ${present.length === 0 ? '–' : format(Math.max(...present))}`;
  });
  return `${label}. ${parts.join(', ')}`;
};

/** Formats of ticks and moments: hours for up to a day and a half, otherwise days. */
function useTimeFormats(times: readonly number[], isDays: boolean) {
  const { language } = useLanguage();
  const format = useFormat();
  const span = (times.at(-1) ?? 0) - (times[0] ?? 0);
  return useMemo(() => {
    const zone = isDays ? ({ timeZone: 'UTC' } as const) : {};
    const tick = new Intl.DateTimeFormat(
      language,
      span > 1.5 * DAY_SECONDS ? { month: 'short', day: 'numeric', ...zone } : { hour: 'numeric', minute: '2-digit' },
    );
    return {
      tick: (seconds: number) => tick.format(seconds * 1000),
      time: isDays ? format.day : format.time,
    };
  }, [language, format, span, isDays]);
}

interface ChartTableProps extends Pick<TimeChartData, 'label' | 'times' | 'series' | 'format'> {
  time(seconds: number): string;
}

/** Rows without a value in any series are left out. */
function ChartTable({ label, times, series, format, time }: ChartTableProps) {
  const common = useCommonMessages();
  const cell = (value: number | null | undefined) => (value == null ? '–' : format(value));
  return (
    <ScrollArea.Autosize mah={240} type="auto" viewportProps={{ tabIndex: 0, role: 'group', 'aria-label': label }}>
      <Table aria-label={label}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{common.time}</Table.Th>
            {series.map(({ label: name }) => (
              <Table.Th key={name} ta="end">
                {name}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {times.map((seconds, at) =>
            series.every(({ values }) => !values[at]) ? null : (
              <Table.Tr key={seconds}>
                <Table.Td>{time(seconds)}</Table.Td>
                {series.map(({ label: name, values }) => (
                  <Table.Td key={name} ta="end">
                    {cell(values[at])}
                  </Table.Td>
                ))}
              </Table.Tr>
            ),
          )}
        </Table.Tbody>
      </Table>
    </ScrollArea.Autosize>
  );
}
