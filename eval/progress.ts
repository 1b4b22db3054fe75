const WIDTH = 20;

/** Shows how far something is, in one line that is written over. Silent where nobody watches (a pipe, a log). */
export function progress(done: number, all: number, what: string): void {
  if (!process.stderr.isTTY) return;
  const filled = Math.round((WIDTH * done) / Math.max(1, all));
  const bar = '#'.repeat(filled) + '.'.repeat(WIDTH - filled);
  process.stderr.write(`\r[${bar}] ${done}/${all} ${what}\u001b[K${done >= all ? '\n' : ''}`);
}
