import type { LineVersion } from './screen.ts';
import { COLUMNS } from './terminal.ts';

/** Pixels. */
const CHARACTER = 8.4;
const LINE = 20;
const MARGIN = 18;
const BAR = 34;
/** Pause at the end before the animation repeats. */
const HOLD_MS = 6000;

const STYLE = [
  'text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d6dde6;white-space:pre}',
  '.p{fill:#7ee0a8}',
  '.t{fill:#8794a5;text-anchor:middle}',
];

/**
 * Renders a terminal window as an SVG with a CSS animation in real time; without animation support it shows the last
 * frame.
 */
export function draw(
  title: string,
  versions: readonly LineVersion[],
  { lines, endMs }: { lines: number; endMs: number },
): string {
  const width = Math.ceil(COLUMNS * CHARACTER + 2 * MARGIN);
  const height = BAR + lines * LINE + 2 * MARGIN;
  const total = endMs + HOLD_MS;
  const share = (ms: number) => `${((100 * ms) / total).toFixed(2)}%`;
  const rules: string[] = [];
  const played: string[] = [];
  const texts = versions.map((version, i) => {
    const next = versions.find((other, j) => j > i && other.line === version.line);
    const until = next === undefined ? '' : `${share(next.fromMs)}{opacity:0}`;
    rules.push(`@keyframes k${i}{0%{opacity:0}${share(version.fromMs)}{opacity:1}${until}}`);
    played.push(`#t${i}{animation:k${i} ${(total / 1000).toFixed(1)}s step-end infinite}`);
    const marks = `id="t${i}"${next === undefined ? '' : ' opacity="0"'}`;
    return `<text${version.isPrompt ? ' class="p"' : ''} x="${MARGIN}" y="${BAR + MARGIN + version.line * LINE + 14}" ${marks} textLength="${(version.text.length * CHARACTER).toFixed(1)}">${escaped(version.text)}</text>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(title)}">`,
    `<style>${[...STYLE, ...rules].join('')}@media(prefers-reduced-motion:no-preference){${played.join('')}}</style>`,
    `<rect width="${width}" height="${height}" rx="10" fill="#12171f"/>`,
    `<path d="M0 10a10 10 0 0 1 10-10h${width - 20}a10 10 0 0 1 10 10v${BAR - 10}H0z" fill="#1d2530"/>`,
    ...['#e0675f', '#e0b04f', '#62b866'].map(
      (fill, i) => `<circle cx="${20 + 20 * i}" cy="${BAR / 2}" r="6" fill="${fill}"/>`,
    ),
    `<text class="t" x="${width / 2}" y="${BAR / 2 + 5}">${escaped(title)}</text>`,
    ...texts,
    '</svg>\n',
  ].join('\n');
}

const escaped = (text: string): string => text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
