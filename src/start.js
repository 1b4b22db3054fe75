#!/usr/bin/env node
// Entry point of every command. Plain JavaScript, so that an old Node can report its version.
import { isNodeTooOld, requireNode24 } from './boot/require-node.js';

// Dynamic imports: an old Node lacks the modules and the syntax of the files below.
if (isNodeTooOld()) await (await import('./boot/pinned-node.js')).runOnPinnedNode();
requireNode24();
// Files of this process and its children are accessible only to their user. `execve`, `fork` and `exec` keep the umask.
process.umask(0o077);
// MALLOC_ARENA_MAX and V8 heap flags are read only at process start, so the process re-executes itself in place (same
// PID and streams, but without an IPC channel). glibc otherwise keeps an arena per thread, a third of the memory of
// ingestion. V8 otherwise grows its young space to 128 MB, which an idle service keeps; with 32 MB the CPU time is
// equal.
const isService = ['serve', 'api', 'worker'].includes(process.argv[2]);
const isSet = process.env['MALLOC_ARENA_MAX'] !== undefined;
if (process.platform === 'linux' && isService && !isSet && process.execve && !process.channel) {
  const { heapFlags, planMemory } = await import('./config/memory-budget.ts');
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
// The kernel drops signals to process 1 of a container without handlers, and the imports below take seconds. Nothing is
// open yet.
const exit = () => process.exit(143);
if (isService) process.on('SIGTERM', exit).on('SIGINT', exit);
// npx signals only the shell in which it runs a command: without that shell, the service stops as if it had been
// signalled itself.
if (isService && process.env['npm_command'] === 'exec') {
  const shell = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === shell) return;
    clearInterval(timer);
    process.kill(process.pid, 'SIGTERM');
  }, 500).unref();
}
// LanceDB writes its warnings as plain text between the JSON lines on stderr.
process.env['LANCEDB_LOG'] ??= 'error';
await import('./boot/quick-imports.js');
const { main } = await import('./main.ts');
process.exitCode = await main(process.argv.slice(2));
