#!/usr/bin/env node
// The entry point of every command, in plain JavaScript: on an old Node it must still be able to say so.
import { requireNode24 } from './require-node.js';

requireNode24();
// Whatever this process and its children create is accessible to its user alone; a umask lives through `execve`, `fork` and `exec`.
process.umask(0o077);
// Both of these are read only when a process begins, so this one begins again, in place: same id, same streams. An IPC channel
// would not live through that. glibc keeps a heap for each of many threads: a third of what ingestion takes. V8's heaps are sized
// to the memory limit: its young space alone would grow to 128 MB, of which an idle service keeps most; with 32 MB the CPU time
// is the same.
const isLasting = process.argv[2] === 'serve' || process.argv[2] === 'worker';
const isSet = process.env['MALLOC_ARENA_MAX'] !== undefined;
if (process.platform === 'linux' && isLasting && !isSet && process.execve && !process.channel) {
  // Not among the imports above: an old Node cannot read them.
  const { heapFlags, planMemory } = await import('./memory-budget.ts');
  const { readMemoryLimit } = await import('./lib/memory-limit.ts');
  const plannedMb = Number(process.env['QUIRE_MEMORY_LIMIT_MB']);
  const limitBytes = plannedMb > 0 ? plannedMb * 2 ** 20 : readMemoryLimit().bytes;
  const isSetByOperator = (flag) => process.env['NODE_OPTIONS']?.includes(flag.split('=')[0]) === true;
  const flags = heapFlags(planMemory(limitBytes)).filter((flag) => !isSetByOperator(flag));
  const environment = { ...process.env, MALLOC_ARENA_MAX: '2' };
  process.execve(
    process.execPath,
    [process.argv0, ...flags, ...process.execArgv, ...process.argv.slice(1)],
    environment,
  );
}
// The kernel drops signals to process 1 of a container until it has handlers, and the imports below take seconds. Nothing is open yet.
const end = () => process.exit(143);
if (isLasting) process.on('SIGTERM', end).on('SIGINT', end);
// LanceDB would write its warnings in plain lines among our JSON ones on stderr.
process.env['LANCEDB_LOG'] ??= 'error';
// Not among the imports above: an old Node has not all that it uses.
await import('./quick-imports.js');
const { main } = await import('./main.ts');
process.exitCode = await main(process.argv.slice(2));
