import { after, before } from 'node:test';
import {
  createLocalEngine,
  type LocalEngine,
  type LocalEngineOptions,
} from '../src/engines/llama/engine/local-engine.ts';
import { createLogger } from '../src/lib/logger.ts';

/** An engine with four slots and one thread on a GGUF file. */
export function engineOn(file: string, changes: Partial<LocalEngineOptions> = {}): LocalEngine {
  const logger = createLogger('silent');
  return createLocalEngine({
    file,
    name: 'tiny',
    kind: 'local',
    contextTokens: null,
    slots: 4,
    threads: 1,
    logger,
    ...changes,
  });
}

/** Starts an engine for the tests of one `describe`. */
export function withEngine(make: () => LocalEngine): () => LocalEngine {
  let engine: LocalEngine | undefined;
  before(async () => {
    engine = make();
    await engine.check(new AbortController().signal);
  });
  after(() => engine?.close());
  return () => engine as LocalEngine;
}
