import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Output of a program, with milliseconds since its start. */
export interface OutputChunk {
  atMs: number;
  text: string;
}

/** Columns of the terminal. */
export const COLUMNS = 92;
const ROWS = 30;

/**
 * Runs a shell command in a pseudo-terminal with additional environment variables. Returns its output with timestamps.
 * Needs `script` of util-linux. Throws for a non-zero exit code.
 */
export async function record(
  command: string,
  cwd: string,
  settings: Record<string, string>,
): Promise<{ pieces: OutputChunk[]; endMs: number }> {
  const exports = Object.entries(settings).map(([name, value]) => `export ${name}='${value}';`);
  const inTerminal = `${exports.join(' ')} stty cols ${COLUMNS} rows ${ROWS}; ${command}`;
  const pieces: OutputChunk[] = [];
  const started = performance.now();
  const child = spawn('script', ['-qefc', inTerminal, '/dev/null'], { cwd, stdio: ['ignore', 'pipe', 'inherit'] });
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    pieces.push({ atMs: performance.now() - started, text });
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`'${command}' ended with ${code}:\n${pieces.map(({ text }) => text).join('')}`);
  return { pieces, endMs: performance.now() - started };
}
