#!/usr/bin/env node
// The entry point of every command, in plain JavaScript: on an old Node it must still be able to say so.
import { requireNode24 } from './require-node.js';

requireNode24();
// LanceDB would write its warnings in plain lines among our JSON ones on stderr.
process.env['LANCEDB_LOG'] ??= 'error';
// Not among the imports above: an old Node has not all that it uses.
await import('./quick-imports.js');
const { main } = await import('./main.ts');
process.exitCode = await main(process.argv.slice(2));
