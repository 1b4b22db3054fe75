import { useComputedColorScheme } from '@mantine/core';
import { useElementSize } from '@mantine/hooks';
import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';

const HEIGHT = 220;

interface DayChartProps {
  label: string;
  /** Unix seconds of the days. */
  times: number[];
  values: number[];
  format(value: number): string;
}

/** Bars by day. Readers of tables find the same figures in the table below the chart. */
export function DayChart({ label, times, values, format }: DayChartProps) {
  const { ref: size, width } = useElementSize();
  const element = useRef<HTMLDivElement>(null);
  const scheme = useComputedColorScheme('light');
  useEffect(() => {
    if (element.current === null || width === 0) return;
    const ink = scheme === 'dark' ? '#c9c9c9' : '#495057';
    const grid = { stroke: scheme === 'dark' ? '#3b3b3b' : '#e9ecef', width: 1 };
    const chart = new uPlot(
      {
        width,
        height: HEIGHT,
        legend: { show: false },
        cursor: { drag: { x: false, y: false } },
        scales: { x: { time: true }, y: { range: (_plot, _min, max) => [0, Math.max(1, max * 1.1)] } },
        axes: [
          { stroke: ink, grid: { show: false } },
          { stroke: ink, grid, size: 70, values: (_plot, ticks) => ticks.map(format) },
        ],
        series: [
          {},
          {
            label,
            fill: '#1c7ed6',
            stroke: '#1c7ed6',
            width: 0,
            points: { show: false },
            paths: uPlot.paths.bars?.({ size: [0.7, 40] }),
          },
        ],
        tzDate: (timestamp) => uPlot.tzDate(new Date(timestamp * 1000), 'Etc/UTC'),
      },
      [times, values],
      element.current,
    );
    return () => chart.destroy();
  }, [times, values, width, scheme, label, format]);
  return (
    <div ref={size}>
      <div ref={element} role="img" aria-label={label} />
    </div>
  );
}
