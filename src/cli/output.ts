import type { CommandInput } from './command-spec.ts';

/** The option that every command with a result has. */
export const JSON_OPTION = { json: { type: 'flag', help: 'Print one JSON document on stdout.' } } as const;

/** Prints the result as JSON when `--json` was given, otherwise in people's words. */
export function print(input: CommandInput, result: unknown, forPeople: () => string): void {
  console.log(input.flags.has('json') ? JSON.stringify(result, null, 2) : forPeople());
}

/** Rows in columns, the first row the heads. */
export function table(rows: readonly (readonly string[])[]): string {
  const columns = rows[0]?.length ?? 0;
  const widths = Array.from({ length: columns }, (_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Unix seconds as people read them; `-` for null. */
export function when(seconds: number | null): string {
  return seconds === null ? '-' : new Date(seconds * 1000).toISOString().slice(0, 16).replace('T', ' ');
}

/** Bytes as people read the size of files: in millions, with one decimal below a hundred. */
export function megabytes(bytes: number): string {
  const count = bytes / 1_000_000;
  const shown = count >= 100 ? Math.round(count).toLocaleString('en-US') : count.toFixed(1);
  return `${shown} MB`;
}

/** Seconds as a clock shows them: `0:07`, `12:34`, `1:02:03`. */
export function clock(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  const rest = String(seconds % 60).padStart(2, '0');
  if (minutes < 60) return `${minutes}:${rest}`;
  return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')}:${rest}`;
}

/** `1 file`, `2 files`; thousands with commas. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? one : many}`;
}
