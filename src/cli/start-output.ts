import { styleText } from 'node:util';
import type { BootstrapKey } from '../accounts/bootstrap.ts';
import type { SHUTDOWN_ORDER } from '../boot/shutdown-order.ts';
import { VERSION } from '../lib/version.ts';
import type { InitialPullStatus } from '../models/downloads/initial-pull.ts';
import type { ProgressOutput } from './live-line.ts';

type Part = (typeof SHUTDOWN_ORDER)[number];

/** Components that take a noticeable time to start, as a terminal names them. */
const STAGES: Partial<Record<Part, string>> = {
  database: 'opening the database',
  engine: 'loading the models',
  index: 'opening the search index',
  api: 'opening the port',
};

const FIRST_PROMPT =
  '{"model": "general-8b", "stream": true, "messages": [{"role": "user", "content": "Hello! What can you do?"}]}';

/** What `quire serve` prints on stdout for the person who starts it. Logs go to stderr. */
export class StartOutput {
  readonly #output: ProgressOutput;
  readonly #shown = new Set<Part>();

  constructor(output: ProgressOutput) {
    this.#output = output;
  }

  /** Whether a person watches the start. */
  get isTerminal(): boolean {
    return this.#output.isTTY ?? false;
  }

  /** Shows on a terminal that a component starts. */
  showStage(part: Part): void {
    const stage = STAGES[part];
    if (!this.isTerminal || stage === undefined || this.#shown.has(part)) return;
    if (this.#shown.size === 0) this.#print(`Starting Quire ${VERSION}`);
    this.#shown.add(part);
    this.#print(this.#style('dim', `  ${stage}`));
  }

  /** Shows the first outcome of the model download: that bytes arrive, or that none can. */
  showPull({ model, state, total_bytes: total }: InitialPullStatus): void {
    const size = total === null ? '' : ` (${(total / 1e9).toFixed(1)} GB)`;
    this.#print(
      state === 'failed'
        ? 'No larger model can be downloaded here, so the small bundled model answers. Connect a model server with QUIRE_UPSTREAM_URL, or a GGUF file in quire.yaml.'
        : `Downloading a larger model, ${model}${size}, in the background. It replaces the bundled model when complete. Progress: GET /readyz. QUIRE_MODELS_PULL=never disables the download.`,
    );
  }

  /** Shows the key of a first start, or how to replace a key that may have been lost, and last the base URL. */
  showReady(url: string, key: BootstrapKey | null): void {
    if (key?.secret != null) this.#print(firstStart(url, key.secret, (text) => this.#style('bold', text)));
    else if (key !== null) this.#print(unusedKey(key.id));
    this.#print(this.#style('bold', `Quire is ready at ${url} (API documentation: ${url}/docs)`));
  }

  /** Shows the link that creates the first account of the console. */
  showSetup(url: string, token: string): void {
    this.#print(
      [
        '',
        'Create the first account of the console with this link (it works once):',
        '',
        `  ${url}/join#${token}`,
        '',
      ].join('\n'),
    );
  }

  /** Shows that every component has stopped. */
  showStopped(): void {
    this.#print('Quire has stopped.');
  }

  #print(text: string): void {
    this.#output.write(`${text}\n`);
  }

  #style(format: 'bold' | 'dim', text: string): string {
    return this.isTerminal ? styleText(format, text, { stream: process.stdout }) : text;
  }
}

function firstStart(url: string, secret: string, emphasize: (text: string) => string): string {
  return [
    '',
    'This is the first start. Your API key, shown once:',
    '',
    `  ${emphasize(secret)}`,
    '',
    'Try it:',
    '',
    `  curl -N ${url}/v1/chat/completions \\`,
    `    -H 'Authorization: Bearer ${secret}' \\`,
    "    -H 'Content-Type: application/json' \\",
    `    -d '${FIRST_PROMPT}'`,
    '',
  ].join('\n');
}

function unusedKey(id: string): string {
  return [
    '',
    'The API key of the first start has not been used yet. If it is lost, replace it (the new one is shown once):',
    '',
    `  npx quire keys rotate ${id}`,
    '',
  ].join('\n');
}
