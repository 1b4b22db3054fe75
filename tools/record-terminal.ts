/**
 * Records the README's terminal session: starts a service on an empty folder, runs the commands in a terminal, and
 * writes the result to docs/images/five-minutes.svg. `-- FILE` writes elsewhere. Needs `script` of util-linux.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { startQuire } from '../bench/harness/quire-process.ts';
import { draw } from './recording/draw.ts';
import { Screen } from './recording/screen.ts';
import { record } from './recording/terminal.ts';

const ROOT = join(import.meta.dirname, '..');
const COMMANDS = [
  'npx quire ingest examples/harbour --kb Harbour',
  'npx quire ask "What do three short tones of the siren mean?" --kb Harbour',
  'npx quire ask "When is the sauna heated?" --kb Harbour',
  'npx quire ask "Which item has the lowest stock?" --kb Harbour',
];
/** Reading time of an output, and of a command before it runs. */
const PAUSE_MS = 1500;
const TYPED_MS = 500;

/** npx erases its progress with other controls of the same effect. */
const plainControls = (text: string) => text.replaceAll('\u001b[1G', '\r').replaceAll('\u001b[0K', '\u001b[K');

const file = process.argv[2] ?? join(ROOT, 'docs/images/five-minutes.svg');
const home = mkdtempSync(join(tmpdir(), 'quire-recording-'));
const quire = await startQuire();
try {
  const screen = new Screen();
  let nowMs = 0;
  for (const command of COMMANDS) {
    nowMs += PAUSE_MS;
    screen.prompt(`$ ${command}`, nowMs);
    nowMs += TYPED_MS;
    const settings = {
      HOME: home,
      npm_config_progress: 'false',
      npm_config_update_notifier: 'false',
      QUIRE_URL: quire.origin,
      QUIRE_API_KEY: quire.apiKey,
    };
    const { pieces, endMs } = await record(command, ROOT, settings);
    for (const { atMs, text } of pieces) screen.write(plainControls(text), nowMs + atMs);
    nowMs += endMs;
    screen.write('\n', nowMs);
  }
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, draw('Your own documents', screen.versions, { lines: screen.height - 2, endMs: nowMs }));
  console.log(`${file} written.`);
} finally {
  await quire.stop();
  rmSync(home, { recursive: true, force: true });
}
