import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { engineConformance } from '../../../test/engine-conformance.ts';
import { writeTinyGguf } from '../../../test/fixtures/tiny-gguf.ts';
import { createLogger } from '../../lib/logger.ts';
import { createLocalEngine } from './local-engine.ts';

const folder = mkdtempSync(join(tmpdir(), 'quire-local-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const tiny = writeTinyGguf(join(folder, 'tiny.gguf'), { contextTokens: 2048 });
const never = new AbortController().signal;

engineConformance('the local engine', async () => {
  const engine = createLocalEngine({
    file: tiny,
    name: 'tiny',
    kind: 'local',
    contextTokens: null,
    sequences: 4,
    threads: 1,
    logger: createLogger('error'),
  });
  return {
    engine,
    close: () => engine.close(),
    running: async () => {
      const { running, waiting } = await engine.load(never);
      return running + waiting;
    },
  };
});
