#!/usr/bin/env node
// The entry point of every command, in plain JavaScript: on an old Node it must still be able to say so.
import { enableCompileCache } from 'node:module';
import { requireNode24 } from './require-node.js';

requireNode24();
// Stripping types and compiling some 500 modules is most of a start; a second start reads the result of the first.
enableCompileCache();
const { main } = await import('./main.ts');
process.exitCode = await main(process.argv.slice(2));
