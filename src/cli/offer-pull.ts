import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import { DOWNLOADABLE_MODELS } from '../models/downloads/downloadable-models.ts';
import type { InitialPull } from '../models/downloads/initial-pull.ts';

/** Parameters of the question of a first start. */
export interface PullOffer {
  pull: Pick<InitialPull, 'chooseModel' | 'isHubReachable' | 'start'>;
  input: NodeJS.ReadableStream;
  output: NodeJS.WritableStream;
  /** Stores that the person declined, so that no later start asks. */
  decline(): Promise<void>;
  /** Says that no model can be downloaded here. */
  showUnreachable(model: string): void;
  /** Ends the question without an answer. */
  signal: AbortSignal;
}

/**
 * Asks the person at the terminal of a first start whether to download a real model, and starts the download after yes.
 * Asks nothing where the memory is too little or the hub does not answer.
 */
export async function offerPull({ pull, input, output, decline, showUnreachable, signal }: PullOffer): Promise<void> {
  const model = pull.chooseModel();
  if (model === null) return;
  const isReachable = await pull.isHubReachable();
  if (signal.aborted) return;
  if (!isReachable) return showUnreachable(model);
  const downloadable = DOWNLOADABLE_MODELS.find(({ name }) => name === model);
  const size = ((downloadable?.approximateBytes ?? 0) / 1e9).toFixed(1);
  const terminal = createInterface({ input, output });
  // A terminal in this mode sends no signal of its own.
  terminal.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  try {
    const question = `\nOnly the small bundled model answers so far: it quotes documents and does little else.\nDownload ${model} (${size} GB, ${downloadable?.licence}) in the background? [Y/n] `;
    const answer = await terminal.question(question, { signal });
    if (/^\s*n/i.test(answer)) {
      await decline();
      output.write(
        `Nothing is downloaded. Later: npx quire models pull ${model}, then npx quire models use ${model}\n`,
      );
    } else pull.start(model);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    terminal.close();
  }
}

/** Whether a person can answer: both streams are a terminal, and this process is no background job. */
export function canAsk(): boolean {
  if (!process.stdin.isTTY || !process.stdout.isTTY) return false;
  try {
    // Fields after the name of the program, which may contain spaces: state, parent, group, session, terminal,
    // foreground group.
    const fields = readFileSync('/proc/self/stat', 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    return fields[2] === fields[5];
  } catch {
    // No /proc: macOS.
    return true;
  }
}
