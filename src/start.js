#!/usr/bin/env node
// The entry point of every command, in plain JavaScript: on an old Node it must still be able to say so.
import { requireNode24 } from './require-node.js';

requireNode24();
// glibc keeps a heap for each of many threads: a third of what ingestion takes. It reads how many it may keep only when a
// process begins, so this one begins again, in place: same id, same streams. An IPC channel would not live through that.
const isLasting = process.argv[2] === 'serve' || process.argv[2] === 'worker';
const isSet = process.env['MALLOC_ARENA_MAX'] !== undefined;
if (process.platform === 'linux' && isLasting && !isSet && process.execve && !process.channel) {
  const call = [process.argv0, ...process.execArgv, ...process.argv.slice(1)];
  process.execve(process.execPath, call, { ...process.env, MALLOC_ARENA_MAX: '2' });
}
// LanceDB would write its warnings in plain lines among our JSON ones on stderr.
process.env['LANCEDB_LOG'] ??= 'error';
// Not among the imports above: an old Node has not all that it uses.
await import('./quick-imports.js');
const { main } = await import('./main.ts');
process.exitCode = await main(process.argv.slice(2));
