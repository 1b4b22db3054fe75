import { readFileSync } from 'node:fs';

const PACKAGE = new URL('../package.json', import.meta.url);

/** This version of Quire, as `package.json` has it. */
export const VERSION: string = (JSON.parse(readFileSync(PACKAGE, 'utf8')) as { version: string }).version;
