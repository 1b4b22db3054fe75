import { useComputedColorScheme } from '@mantine/core';
import { useElementSize } from '@mantine/hooks';
import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import type { Series, TimeChartData } from './time-series.ts';

const HEIGHT = 200;
/**
 * Colours of series, of text and of the grid: those of `console.css`, which a canvas cannot read. The series are
 * distinct for people with colour-blindness, with a contrast above 3 on both backgrounds.
 */
const COLORS = {
  light: { series: ['#3056e8', '#c2410c', '#0f766e', '#8b5cf6'], text: '#5d6470', grid: '#e5e7eb' },
  dark: { series: ['#7c96ff', '#fb923c', '#2dd4bf', '#a78bfa'], text: '#9ca3b0', grid: '#24272e' },
};
const FONT = '11px "Inter Variable", Inter, system-ui, sans-serif';
/** Pixels between grid lines, so that a chart has about three. */
const GRID_SPACE = 56;
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
    const colors = COLORS[scheme];
    const axis = { stroke: colors.text, font: FONT, ticks: { show: false } };
    const grid = { stroke: colors.grid, width: 1 };
    const chart = new uPlot(
      {
        width,
        height: HEIGHT,
        cursor: { drag: { x: false, y: false } },
        scales: { x: { time: true }, y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.1 : 1] } },
        axes: [
          { ...axis, grid: { show: false }, space: 80, values: (_plot, ticks) => ticks.map(tick) },
          { ...axis, grid, size: 64, space: GRID_SPACE, values: (_plot, ticks) => ticks.map(format) },
        ],
        series: [
          { label: timeLabel, value: (_plot, value) => (value == null ? '–' : time(value)) },
          ...series.map((one, index) =>
            plotSeries(one, index, { color: colors.series[index] ?? colors.text, format, isBars }),
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
