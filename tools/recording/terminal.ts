import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** What a program has written at a moment, in milliseconds from its start. */
export interface Piece {
  atMs: number;
  text: string;
}

/** The columns of the terminal. */
export const COLUMNS = 92;
const ROWS = 30;

/**
 * Runs a line of the shell in a terminal of its own, with environment variables beside the inherited ones, and gives what it writes with
 * the time of each piece. Needs `script` of util-linux. Throws when it does not end with 0.
 */
export async function record(
  command: string,
  cwd: string,
  settings: Record<string, string>,
): Promise<{ pieces: Piece[]; endMs: number }> {
  const exports = Object.entries(settings).map(([name, value]) => `export ${name}='${value}';`);
  const inTerminal = `${exports.join(' ')} stty cols ${COLUMNS} rows ${ROWS}; ${command}`;
  const pieces: Piece[] = [];
  const started = performance.now();
  const child = spawn('script', ['-qefc', inTerminal, '/dev/null'], { cwd, stdio: ['ignore', 'pipe', 'inherit'] });
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    pieces.push({ atMs: performance.now() - started, text });
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`'${command}' ended with ${code}:\n${pieces.map(({ text }) => text).join('')}`);
  return { pieces, endMs: performance.now() - started };
}
