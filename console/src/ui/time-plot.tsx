import { useComputedColorScheme } from '@mantine/core';
import { useElementSize } from '@mantine/hooks';
import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import type { Series, TimeChartData } from './time-series.ts';

const HEIGHT = 200;
/** Colours of series: distinct for people with colour-blindness, contrast above 3 on both backgrounds. */
const COLORS = {
  light: ['#1971c2', '#c2410c', '#0b7285', '#862e9c'],
  dark: ['#4dabf7', '#ff922b', '#3bc9db', '#da77f2'],
};
const DASHES = [[], [6, 4], [2, 3], [10, 4]];

type PlotProps = TimeChartData & {
  timeLabel: string;
  /** Formats the time of a tick, and of a point. */
  tick(seconds: number): string;
  time(seconds: number): string;
};

/** The canvas of a `TimeChart`, in a file of its own because uPlot is loaded when a chart is shown. */
export default function TimePlot({ label, timeLabel, times, series, format, isBars = false, tick, time }: PlotProps) {
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
        cursor: { drag: { x: false, y: false } },
        scales: { x: { time: true }, y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.1 : 1] } },
        axes: [
          { stroke: ink, grid: { show: false }, space: 80, values: (_plot, ticks) => ticks.map(tick) },
          { stroke: ink, grid, size: 76, values: (_plot, ticks) => ticks.map(format) },
        ],
        series: [
          { label: timeLabel, value: (_plot, value) => (value == null ? '–' : time(value)) },
          ...series.map((one, index) =>
            plotSeries(one, index, { color: COLORS[scheme][index] ?? ink, format, isBars }),
          ),
        ],
      },
      [times, ...series.map(({ values }) => values)],
      element.current,
    );
    return () => chart.destroy();
  }, [timeLabel, times, series, width, scheme, format, isBars, tick, time]);
  return (
    <div ref={size} style={{ minHeight: HEIGHT + 30 }}>
      <div ref={element} role="img" aria-label={label} />
    </div>
  );
}

function plotSeries(
  { label, values }: Series,
  index: number,
  { color, format, isBars }: { color: string; format(value: number): string; isBars: boolean },
): uPlot.Series {
  const common = { label, value: (_plot: uPlot, value: number | null) => (value == null ? '–' : format(value)) };
  if (isBars && index === 0) {
    const paths = uPlot.paths.bars?.({ size: [0.7, 40] });
    return { ...common, fill: color, stroke: color, width: 0, points: { show: false }, ...(paths && { paths }) };
  }
  return {
    ...common,
    stroke: color,
    width: 2,
    dash: DASHES[index] ?? [],
    spanGaps: true,
    points: { show: values.includes(null), size: 5 },
  };
}
