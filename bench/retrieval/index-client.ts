import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import type {
  ExactCommand,
  ExactResult,
  IndexAnswer,
  IndexCommand,
  OpenCommand,
  OpenResult,
  WindowCommand,
  WindowResult,
} from './index-messages.ts';

/** A process that calls LanceDB directly, one command at a time. */
export class IndexClient {
  readonly #child: ChildProcess;

  constructor() {
    this.#child = fork(join(import.meta.dirname, 'index-process.ts'), { serialization: 'advanced' });
  }

  /** Process id. */
  get pid(): number {
    return this.#child.pid ?? 0;
  }

  open(command: Omit<OpenCommand, 'kind'>): Promise<OpenResult> {
    return this.#tell({ kind: 'open', ...command }) as Promise<OpenResult>;
  }

  exact(command: Omit<ExactCommand, 'kind'>): Promise<ExactResult> {
    return this.#tell({ kind: 'exact', ...command }) as Promise<ExactResult>;
  }

  window(command: Omit<WindowCommand, 'kind'>): Promise<WindowResult> {
    return this.#tell({ kind: 'window', ...command }) as Promise<WindowResult>;
  }

  /** Ends the process. */
  stop(): void {
    if (this.#child.connected) this.#child.disconnect();
  }

  #tell(command: IndexCommand): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const onExit = (code: number | null) => reject(new Error(`the process of the index has ended (${code})`));
      this.#child.once('exit', onExit);
      this.#child.once('message', (answer: IndexAnswer) => {
        this.#child.off('exit', onExit);
        if ('error' in answer) reject(new Error(answer.error));
        else resolve(answer.result);
      });
      this.#child.send(command);
    });
  }
}
