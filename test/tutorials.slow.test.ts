/** Follows tutorials of the guide literally: their shell blocks run in bash against a service, in their order. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { newDataDir, type Service, startService } from './spawned-service.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const run = promisify(execFile);

/** The blocks of a tutorial in a language. */
function readTutorial(name: string, language: string): string[] {
  const text = readFileSync(join(ROOT, 'docs/use/tutorials', `${name}.md`), 'utf8');
  return [...text.matchAll(new RegExp(`^ *\`\`\`${language}\\n([\\s\\S]*?)^ *\`\`\`$`, 'gm'))].map(
    ([, code = '']) => code,
  );
}

describe('tutorials', () => {
  let service: Service;
  let folder: string;
  before(async () => {
    service = await startService({ dataDir: newDataDir() });
    folder = mkdtempSync(join(tmpdir(), 'quire-tutorial-'));
    symlinkSync(join(ROOT, 'examples'), join(folder, 'examples'));
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    mkdirSync(join(folder, 'bin'));
    // `npx quire` finds the clone by its working directory.
    writeFileSync(
      join(folder, 'bin/npx'),
      `#!/bin/bash\nshift\nexec "${process.execPath}" "${ROOT}src/start.js" "$@"\n`,
    );
    chmodSync(join(folder, 'bin/npx'), 0o755);
    symlinkSync(process.execPath, join(folder, 'bin/node'));
  });
  after(async () => {
    await service.stop();
    rmSync(folder, { recursive: true });
  });

  /** Runs a block with the address and the key of the service; `values` replace placeholders such as `kb_...`. */
  const follow = async (block: string, values: Record<string, string> = {}) => {
    let script = block.replaceAll('http://127.0.0.1:8080', service.url).replaceAll('quire-sk-...', service.key);
    for (const [placeholder, value] of Object.entries(values)) script = script.replaceAll(placeholder, value);
    const env = {
      ...process.env,
      PATH: `${join(folder, 'bin')}:${process.env['PATH']}`,
      QUIRE_URL: service.url,
      QUIRE_API_KEY: service.key,
      QUIRE_DATA_DIR: service.dataDir,
    };
    const { stdout } = await run('/bin/bash', ['-e', '-c', script], { cwd: folder, env, encoding: 'utf8' });
    return stdout;
  };

  it('five-minutes answers from the scan and the workbook, and with citations by curl', async () => {
    const [, ingest = '', ask = '', curl = ''] = readTutorial('five-minutes', 'sh');
    await follow(ingest);
    const answers = await follow(ask);
    assert.match(answers, /handbook\.pdf/);
    assert.match(answers, /notice\.jpg/);
    assert.match(answers, /berths\.xlsx/);
    const output = await follow(curl);
    const answer = JSON.parse(output.slice(output.indexOf('{"id":"chatcmpl')));
    assert.ok(answer.choices[0].message.annotations.length > 0, output);
  });

  it('give-your-team-access creates keys and an organization with credits', async () => {
    const blocks = readTutorial('give-your-team-access', 'sh').filter((block) => block.startsWith('npx'));
    assert.match(await follow(blocks[0] ?? ''), /support bot/);
    assert.match(await follow(blocks[1] ?? ''), /acme/);
  });

  it('support-bot cites its sources, blocks the topic, and is measured', async () => {
    const [policy = '', program = '', evaluate = ''] = readTutorial('support-bot', 'sh');
    await follow(policy);
    writeFileSync(
      join(folder, 'bot.mjs'),
      (readTutorial('support-bot', 'js')[0] ?? '').replaceAll('http://127.0.0.1:8080', service.url),
    );
    const list = await follow('npx quire kb list --json');
    const id = /kb_\w+/.exec(list)?.[0] ?? '';
    const output = await follow(program, { 'kb_...': id });
    assert.match(output, /\[\d+\] handbook\.pdf/);
    assert.match(output, /I cannot help with this topic\.\n$/);
    writeFileSync(join(folder, 'questions.jsonl'), readTutorial('support-bot', 'jsonl')[0] ?? '');
    assert.match(await follow(evaluate), /recall/i);
  });
});
