import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import { DOWNLOADABLE_MODELS } from '../models/downloads/downloadable-models.ts';
import type { InitialPull } from '../models/downloads/initial-pull.ts';

/** Parameters of the question of a first start. */
export interface PullOffer {
  pull: Pick<InitialPull, 'chooseModel' | 'chooseRetrievalModels' | 'isHubReachable' | 'start'>;
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
 * Asks the person at the terminal of a first start whether to download a real model, with models for retrieval where
 * the memory is enough, and starts the download after yes.
 * Asks nothing where the memory is too little or the hub does not answer.
 */
export async function offerPull({ pull, input, output, decline, showUnreachable, signal }: PullOffer): Promise<void> {
  const model = pull.chooseModel();
  if (model === null) return;
  const isReachable = await pull.isHubReachable();
  if (signal.aborted) return;
  if (!isReachable) return showUnreachable(model);
  const others = pull.chooseRetrievalModels();
  const terminal = createInterface({ input, output });
  // A terminal in this mode sends no signal of its own.
  terminal.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  try {
    const hint = '\nOnly the small bundled model answers so far: it quotes documents and does little else.';
    const retrieval = others.map((name) => `\n  with ${describeModel(name)}`).join('');
    const choices =
      others.length > 0 ? ' for retrieval, in the background? [Y/n, c: chat only]' : ' in the background? [Y/n]';
    const question = `${hint}\nDownload ${describeModel(model)}${retrieval}${choices} `;
    const answer = await terminal.question(question, { signal });
    if (/^\s*n/i.test(answer)) {
      await decline();
      output.write('Nothing is downloaded. Later: npx quire models pull-set\n');
    } else pull.start(model, /^\s*c/i.test(answer) ? [] : others);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    terminal.close();
  }
}

/** Name, size and licence of a model that can be pulled. */
function describeModel(model: string): string {
  const { approximateBytes = 0, licence } = DOWNLOADABLE_MODELS.find(({ name }) => name === model) ?? {};
  return `${model} (${(approximateBytes / 1e9).toFixed(1)} GB, ${licence})`;
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
