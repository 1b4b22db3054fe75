import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, it, mock } from 'node:test';
import { bundledEmbedder, embeddedBy } from '../../test/embedder.ts';
import { useApi } from '../../test/harness.ts';
import { ingestInMemory } from '../../test/ingestion.ts';
import { deleteLogin, loadClientConfig, storeLogin } from '../config/client-config.ts';
import { INGEST_SOURCE } from '../knowledge-bases/jobs/ingest-job.ts';
import { main } from '../main.ts';
import { nameCommand } from './command.ts';
import { listCompletions, renderCompletion } from './completion.ts';
import { excerptAround } from './excerpt.ts';
import { createProgram } from './program.ts';

const folder = mkdtempSync(join(tmpdir(), 'quire-commands-'));
after(() => rmSync(folder, { recursive: true }));

/** Runs a command in this process. */
async function quire(...args: string[]) {
  const log = mock.method(console, 'log', () => {});
  const error = mock.method(console, 'error', () => {});
  const code = await main(args);
  const [stdout = '', stderr = ''] = [log, error].map((one) =>
    one.mock.calls.flatMap((call) => call.arguments).join('\n'),
  );
  mock.restoreAll();
  return { code, stdout, stderr };
}

describe('commands for knowledge bases and policies', () => {
  const embedder = bundledEmbedder();
  const api = useApi({
    ...embeddedBy(embedder),
    jobs: [INGEST_SOURCE],
    scoreTexts: async (texts) => texts.map(() => ({ harassment: 0, hate: 0, self_harm: 0, sexual: 0, violence: 0 })),
  });
  before(() => {
    process.env['QUIRE_URL'] = api.url;
    process.env['QUIRE_API_KEY'] = api.key;
  });
  after(() => embedder.close());

  it('kb create takes the chunking, and says what is wrong with it', async () => {
    const name = `It's "new"`;
    const { code, stdout } = await quire(
      ...['kb', 'create', name, '--description', 'D', '--chunk-size', '128', '--chunk-overlap', '0', '--json'],
    );
    assert.equal(code, 0);
    const base = JSON.parse(stdout);
    assert.deepEqual(
      [base.name, base.description, base.chunking_strategy],
      [name, 'D', { type: 'recursive', chunk_size: 128, chunk_overlap: 0 }],
    );
    assert.match((await quire('kb', 'create', 'Plain')).stdout, /^Created 'Plain' \(kb_\w+\)\./);
    const wrong = await quire('kb', 'create', 'Wrong', '--chunk-size', '64', '--chunk-overlap', '64');
    assert.deepEqual([wrong.code, /chunk_overlap/.test(wrong.stderr)], [1, true], wrong.stderr);
    assert.equal((await quire('kb', 'create', 'Wrong', '--chunk-overlap', '-1')).code, 2);
    assert.equal((await quire('kb', 'create', 'Wrong', '--chunking', 'none')).code, 2);
  });

  it('kb search shows the text around the match', async () => {
    const filler = 'The meadow lies beside the river, and sheep graze there from May to October. '.repeat(5);
    const { run, queueJob } = await ingestInMemory(api, { long: `${filler}The lighthouse keeper rings at dawn.` });
    await run(await queueJob());
    const { stdout } = await quire('kb', 'search', 'Base', 'lighthouse', 'keeper');
    assert.match(stdout, /… .*lighthouse keeper rings at dawn\./);
  });

  it('sources are added from a file, listed, synchronized and deleted by name', async () => {
    await quire('kb', 'create', 'Sites');
    const path = join(folder, 'source.json');
    writeFileSync(path, JSON.stringify({ urls: ['https://docs.example.com/'], max_pages: 5 }));
    const added = await quire(
      'sources',
      'add',
      'Sites',
      '--type',
      'web_crawl',
      '--config',
      `@${path}`,
      '--name',
      'Docs',
    );
    assert.deepEqual([added.code, /^Added 'Docs' \(ds_\w+\)/.test(added.stdout)], [0, true], added.stderr);
    const listed = JSON.parse((await quire('sources', 'list', 'Sites', '--json')).stdout);
    assert.deepEqual(
      listed.map(({ name, type }: { name: string; type: string }) => [name, type]),
      [['Docs', 'web_crawl']],
    );
    assert.match((await quire('sources', 'sync', 'Sites', 'Docs')).stdout, /^Synchronizing 'Docs': job job_\w+/);
    assert.match(
      (await quire('sources', 'delete', 'Sites', 'Docs')).stderr,
      /with 0 documents of 'Sites'\. Repeat it with --yes\./,
    );
    assert.match((await quire('sources', 'delete', 'Sites', 'Docs', '--yes')).stdout, /^Deleted 'Docs'/);
    assert.match((await quire('sources', 'sync', 'Sites', 'Docs')).stderr, /'Sites' has no data source 'Docs'/);
  });

  it('sources add rejects a configuration that is no object, a missing file and a wrong field', async () => {
    for (const config of ['[]', '{', '"a"', `@${join(folder, 'nothing.json')}`]) {
      assert.equal((await quire('sources', 'add', 'Sites', '--type', 's3', '--config', config)).code, 2, config);
    }
    const { code, stderr } = await quire('sources', 'add', 'Sites', '--type', 'web_crawl', '--config', '{}');
    assert.deepEqual([code, /config\.urls/.test(stderr)], [1, true], stderr);
  });

  it('policies are created with topics and thresholds, tested, disabled and deleted', async () => {
    const created = await quire(
      ...['policies', 'create', 'House', '--block', 'project falcon', '--block', `o'clock`, '--warn', 'layoffs'],
      ...['--threshold', 'violence=0.7', '--threshold', 'sexual=1', '--apply-to', 'both', '--json'],
    );
    const policy = JSON.parse(created.stdout);
    assert.deepEqual(policy.topic_deny_list, [
      { topic: 'project falcon', action: 'block' },
      { topic: `o'clock`, action: 'block' },
      { topic: 'layoffs', action: 'warn' },
    ]);
    assert.deepEqual([policy.thresholds.violence, policy.thresholds.sexual, policy.thresholds.hate], [0.7, 1, 0.5]);
    assert.deepEqual([policy.enabled, policy.block_on_flag, policy.apply_to], [true, true, ['both']]);
    assert.match((await quire('policies', 'test', 'House', 'about', 'Project', 'Falcon')).stdout, /^block: /);
    assert.equal((await quire('policies', 'test', 'House', 'a good morning')).stdout, 'pass');
    assert.match((await quire('policies', 'disable', 'House')).stdout, /^Disabled 'House'/);
    const [listed] = JSON.parse((await quire('policies', 'list', '--json')).stdout);
    assert.equal(listed.enabled, false);
    assert.equal((await quire('policies', 'delete', 'House', '--yes')).code, 0);
    assert.match((await quire('policies', 'list')).stdout, /nothing is screened/);
  });

  it('policies create rejects unknown categories and scores out of range', async () => {
    for (const threshold of ['anger=0.5', 'hate=1.01', 'hate=-0.1', 'hate=', 'hate', '=0.5', 'hate=x']) {
      assert.equal((await quire('policies', 'create', 'Wrong', '--threshold', threshold)).code, 2, threshold);
    }
  });
});

describe('the stored login', () => {
  const environment = { XDG_CONFIG_HOME: folder, QUIRE_DATA_DIR: join(folder, 'none') };
  const login = { url: 'http://127.0.0.1:9', apiKey: 'quire-sk-"stored"' };
  afterEach(() => deleteLogin(environment));

  it('is readable by its user only, also in place of an open file', async () => {
    const path = storeLogin({ ...login, apiKey: 'quire-sk-old' }, environment);
    execFileSync('chmod', ['644', path]);
    storeLogin(login, environment);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.deepEqual(JSON.parse(readFileSync(path, 'utf8')), login);
    const { url, apiKey } = await loadClientConfig(environment);
    assert.deepEqual({ url, apiKey }, login);
  });

  it('is not used when the address or the key is in the environment', async () => {
    storeLogin(login, environment);
    for (const [set, expected] of [
      [{ QUIRE_URL: 'http://127.0.0.1:8' }, ['http://127.0.0.1:8', null]],
      [{ QUIRE_API_KEY: 'quire-sk-1' }, [null, 'quire-sk-1']],
      [{ QUIRE_URL: '', QUIRE_API_KEY: '' }, [login.url, login.apiKey]],
    ] as const) {
      const { url, apiKey } = await loadClientConfig({ ...environment, ...set });
      assert.deepEqual([url, apiKey], expected);
    }
  });

  it('says what to do when the file is damaged', async () => {
    writeFileSync(storeLogin(login, environment), '{"url": 1}');
    await assert.rejects(loadClientConfig(environment), /is damaged\. Run 'quire login' again\./);
  });

  it('is deleted by logout', () => {
    const path = storeLogin(login, environment);
    assert.equal(deleteLogin(environment), path);
    assert.equal(existsSync(path), false);
    assert.equal(deleteLogin(environment), null);
  });
});

describe('completion', () => {
  /** Runs the completion function of bash on words; the last one is completed. */
  const complete = async (...words: string[]) => {
    const script = renderCompletion('bash', listCompletions(await createProgram(null)));
    const quoted = words.map((word) => `'${word}'`).join(' ');
    const run = `${script}\nCOMP_WORDS=(quire ${quoted}); COMP_CWORD=${words.length}; _quire; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return execFileSync('bash', ['-c', run], { encoding: 'utf8' }).split('\n').filter(Boolean);
  };

  it('offers the commands, those of a group, and the options of a command', async () => {
    assert.deepEqual(await complete('ke'), ['keys']);
    assert.deepEqual(await complete('keys', 'ro'), ['rotate']);
    assert.deepEqual(await complete('keys', 'create', '--sc'), ['--scopes']);
    assert.deepEqual(await complete('kb', 'search', 'Harbour', '--re'), ['--rerank']);
    assert.deepEqual(await complete('index', '--js'), []);
    assert.deepEqual(await complete('nothing', 'ro'), []);
  });

  it('has scripts that bash parses, for zsh too', async () => {
    const entries = listCompletions(await createProgram(null));
    for (const shell of ['bash', 'zsh'] as const) {
      execFileSync('bash', ['-n'], { input: renderCompletion(shell, entries) });
    }
  });

  it('quotes descriptions for fish, and nests commands by the words before', () => {
    const fish = renderCompletion('fish', [
      { path: '', commands: [['kb', `It's a \\ group`]], options: [] },
      { path: 'kb', commands: [['list', 'List']], options: [] },
      { path: 'kb list', commands: [], options: [['--json', 'Print']] },
    ]);
    assert.deepEqual(fish.split('\n').slice(1), [
      String.raw`complete -c quire -n 'not __fish_seen_subcommand_from kb' -f -a kb -d 'It\'s a \\ group'`,
      `complete -c quire -n '__fish_seen_subcommand_from kb; and not __fish_seen_subcommand_from list' -f -a list -d 'List'`,
      `complete -c quire -n '__fish_seen_subcommand_from kb; and __fish_seen_subcommand_from list' -l json -d 'Print'`,
    ]);
  });
});

describe('texts of commands', () => {
  it('name quire as it was called', () => {
    const text = "Usage: quire keys <command>. Run 'quire keys create', npx quire ask, /opt/quire start or quire.yaml.";
    assert.equal(nameCommand(text, 'quire'), text);
    assert.equal(
      nameCommand(text, 'npx quire'),
      "Usage: npx quire keys <command>. Run 'npx quire keys create', npx quire ask, /opt/quire start or quire.yaml.",
    );
  });

  it('surround the words of the query', () => {
    const words = (count: number, word: string) => `${word} `.repeat(count).trim();
    const text = `${words(50, 'before')} the Night Bell hangs ${words(50, 'after')}`;
    const excerpt = excerptAround(text, 'night bell', 80);
    assert.match(excerpt, /^… (before )+the Night Bell hangs after .*…$/);
    assert.ok(excerpt.length <= 80, String(excerpt.length));
    assert.match(excerptAround(text, 'of it', 80), /^before before .*…$/);
    assert.match(excerptAround(`${text} bell`, 'bell bell', 80), /Night Bell/);
    assert.match(excerptAround(`${words(40, 'x1')} end of night`, 'night', 60), /^… .*end of night$/);
    assert.equal(excerptAround('a\n\n short  text', 'text', 80), 'a short text');
  });
});
