import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import type {
  LoadCommand,
  LoadResult,
  SequentialCommand,
  SequentialResult,
  ThroughputCommand,
  ThroughputResult,
} from './load-messages.ts';

/** The process of the load generator. Executes one command at a time. */
export class LoadClient {
  #child: ChildProcess;

  constructor() {
    this.#child = fork(join(import.meta.dirname, 'load-process.ts'), { serialization: 'advanced' });
  }

  /** Sends one request at a time, to the targets in turn. */
  async sequential(command: SequentialCommand): Promise<SequentialResult> {
    const result = await this.#tell(command);
    if (result.kind !== 'sequential') throw new Error(`the load generator answered ${result.kind}`);
    return result;
  }

  /** Loads one target over many connections for a time window. */
  async throughput(command: ThroughputCommand): Promise<ThroughputResult> {
    const result = await this.#tell(command);
    if (result.kind !== 'throughput') throw new Error(`the load generator answered ${result.kind}`);
    return result;
  }

  /** Stops the process. */
  stop(): void {
    this.#child.disconnect();
  }

  #tell(command: LoadCommand): Promise<LoadResult> {
    return new Promise((resolve, reject) => {
      const onExit = (code: number | null) => reject(new Error(`the load generator ended (${code})`));
      this.#child.once('exit', onExit);
      this.#child.once('message', (result: LoadResult) => {
        this.#child.off('exit', onExit);
        if (result.kind === 'failed') reject(new Error(result.message));
        else resolve(result);
      });
      this.#child.send(command);
    });
  }
}
