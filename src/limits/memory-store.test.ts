import { limitStoreConformance } from '../../test/limit-store-conformance.ts';
import { MemoryLimitStore } from './memory-store.ts';

limitStoreConformance('memory', async () => {
  let now = 1_000_000;
  const store = new MemoryLimitStore(() => now);
  const advance = (milliseconds: number) => {
    now += milliseconds;
  };
  return { store, advance, close: () => store.close() };
});
