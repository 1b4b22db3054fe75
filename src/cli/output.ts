/** Prints the result as JSON with `--json`, otherwise as human-readable text. */
export function printResult(options: { json?: boolean }, result: unknown, renderText: () => string): void {
  console.log(options.json === true ? JSON.stringify(result, null, 2) : renderText());
}

/** Ends the process when the reader of a pipe has ended, such as `head`: an `EPIPE` is no failure of the command. */
export function exitWhenPipeCloses(): void {
  if (process.stdout.listenerCount('error') > 0) return;
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
}

/** Aligns rows in columns. The first row is the header. */
export function formatTable(rows: readonly (readonly string[])[]): string {
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

/** Formats Unix seconds as UTC date and minute; `-` for null. */
export function formatTime(seconds: number | null): string {
  return seconds === null ? '-' : new Date(seconds * 1000).toISOString().slice(0, 16).replace('T', ' ');
}

/** Formats bytes as decimal megabytes, with one decimal place below 100 MB. */
export function formatMegabytes(bytes: number): string {
  const count = bytes / 1_000_000;
  const shown = count >= 100 ? Math.round(count).toLocaleString('en-US') : count.toFixed(1);
  return `${shown} MB`;
}

/** Formats seconds as `0:07`, `12:34` or `1:02:03`. */
export function formatDuration(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  const paddedSeconds = String(seconds % 60).padStart(2, '0');
  if (minutes < 60) return `${minutes}:${paddedSeconds}`;
  return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')}:${paddedSeconds}`;
}

/** Formats a count with its noun: `1 file`, `2,000 files`. */
export function formatCount(count: number, singular: string, plural = `${singular}s`): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? singular : plural}`;
}
