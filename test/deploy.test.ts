/** Checks that settings, files and versions named by deployment files exist. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { parse } from 'yaml';
import { loadConfig } from '../src/config/config.ts';
import { type Service, startService, until } from './spawned-service.ts';

const ROOT = new URL('../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, ROOT), 'utf8');
const { version } = JSON.parse(read('package.json')) as { version: string };
const COMPOSE_FILES = ['compose.yaml', 'deploy/compose/postgres-minio.yaml', 'deploy/compose/vllm.yaml'];
/** Minimum grace period of supervisors: 30 s of drain, 10 s for aborted requests, then engines and database. */
const SHUTDOWN_SECONDS = 45;

interface ComposeService {
  image?: string;
  extends?: object;
  environment?: Record<string, string>;
  stop_grace_period?: string;
}

/** Lists the services of a compose file that run Quire, with expanded variables. */
function quireServices(path: string): ComposeService[] {
  const filled = read(path).replaceAll(
    /\$\{\w+(?::-([^}]*)|:\?)?\}/g,
    (_, preset?: string) => preset ?? 'x'.repeat(40),
  );
  const { services } = parse(filled, { merge: true }) as { services: Record<string, ComposeService> };
  return Object.values(services).filter(
    (service) => service.extends !== undefined || service.image?.startsWith('quire:'),
  );
}

/** A recording or alert rule of Prometheus. */
interface Rule {
  alert?: string;
  expr: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

function readRules(): Rule[] {
  const { groups } = parse(read('deploy/prometheus/quire.rules.yaml')) as { groups: { rules: Rule[] }[] };
  return groups.flatMap(({ rules }) => rules);
}

/** Throws for invalid settings and unknown QUIRE_ variables. */
function assertSettings(environment: Record<string, string>): void {
  assert.deepEqual(loadConfig(environment).unknownVariables, []);
}

describe('deployment files', () => {
  for (const path of COMPOSE_FILES) {
    it(`${path} sets valid settings, runs this version, and waits for the shutdown`, () => {
      const services = quireServices(path);
      assert.ok(services.length > 0);
      for (const { image, environment, stop_grace_period: grace, extends: base } of services) {
        assertSettings(environment ?? {});
        if (base !== undefined) continue;
        assert.equal(image, `quire:${version}`);
        assert.ok(Number.parseInt(grace ?? '0', 10) > SHUTDOWN_SECONDS, `stop_grace_period: ${grace}`);
      }
    });
  }

  it('deploy/compose/example.env lists every variable that a compose file requires', () => {
    const required = COMPOSE_FILES.flatMap((path) =>
      [...read(path).matchAll(/\$\{(\w+):\?\}/g)].map(([, name]) => name),
    );
    const listed = [...read('deploy/compose/example.env').matchAll(/^(\w+)=$/gm)].map(([, name]) => name);
    assert.deepEqual(listed.toSorted(), [...new Set(required)].toSorted());
  });

  it('Dockerfile copies files that exist, sets valid settings and carries this version', () => {
    const text = read('Dockerfile');
    const copies = [...text.matchAll(/^COPY (?!--from)(?:--\S+ )?(.+) \S+$/gm)].flatMap(([, paths]) =>
      paths!.split(' '),
    );
    assert.ok(copies.includes('src'));
    for (const path of copies) {
      assert.ok(existsSync(new URL(path, ROOT)), path);
      // A rule for a folder covers its files.
      const covering = path.split('/').map((_, depth, parts) => parts.slice(0, depth + 1).join('/'));
      const isIncluded = covering.some((each) => read('.dockerignore').includes(`\n!${each}\n`));
      assert.ok(isIncluded, `.dockerignore excludes ${path}`);
    }
    assertSettings(
      Object.fromEntries([...text.matchAll(/\b(QUIRE_\w+)=(\S+)/g)].map(([, name, value]) => [name, value])),
    );
    assert.ok(text.includes(`image.version="${version}"`));
  });

  it('the nginx example forwards the port and the client, and both examples name QUIRE_TRUSTED_PROXIES', () => {
    const nginx = read('deploy/nginx/quire.conf');
    assert.ok(nginx.includes('proxy_set_header Host $http_host;'));
    assert.ok(nginx.includes('proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;'));
    for (const text of [nginx, read('deploy/caddy/Caddyfile')])
      assert.match(text, /QUIRE_TRUSTED_PROXIES=127\.0\.0\.1/);
  });

  it('the chart has this version', () => {
    const chart = parse(read('deploy/helm/quire/Chart.yaml')) as { version: string; appVersion: string };
    assert.deepEqual([chart.version, chart.appVersion], [version, version]);
  });

  it('every alert has a severity, a summary and a section in runbooks.md, which has no others', () => {
    const alerts = readRules().filter(({ alert }) => alert !== undefined);
    for (const { alert, labels, annotations } of alerts) {
      assert.match(labels?.['severity'] ?? '', /^(warning|critical)$/, alert);
      assert.ok(annotations?.['summary'], alert);
    }
    const sections = [...read('docs/use/runbooks.md').matchAll(/^## (.+)$/gm)].map(([, title]) => title);
    assert.deepEqual(sections.toSorted(), alerts.map(({ alert }) => alert).toSorted());
  });

  it('quire.service sets valid settings and waits for the shutdown', () => {
    const unit = read('deploy/systemd/quire.service');
    assertSettings(
      Object.fromEntries([...unit.matchAll(/\b(QUIRE_\w+)=(\S+)/g)].map(([, name, value]) => [name, value])),
    );
    assert.ok(Number(unit.match(/^TimeoutStopSec=(\d+)$/m)?.[1]) > SHUTDOWN_SECONDS);
    for (const [path] of unit.matchAll(/(?<=\/opt\/quire\/)(?:src|docs)\/\S+/g))
      assert.ok(existsSync(new URL(path, ROOT)), path);
  });
});

/** Calls every kind of model, runs a response and a batch of one line. */
async function callEverything({ url, key }: Service): Promise<void> {
  const headers = { authorization: `Bearer ${key}` };
  const post = async (path: string, body: object) => {
    const isForm = body instanceof FormData;
    const type = isForm ? {} : { 'content-type': 'application/json' };
    const sent = { method: 'POST', headers: { ...headers, ...type }, body: isForm ? body : JSON.stringify(body) };
    const response = await fetch(`${url}/v1/${path}`, sent);
    assert.equal(response.status, 200, await response.clone().text());
    return (await response.json()) as { id: string; status: string };
  };
  const embedding = { model: 'embed-large-en-v1.5', input: 'a' };
  await post('chat/completions', { model: 'general-8b', max_tokens: 1, messages: [{ role: 'user', content: 'Hi' }] });
  await post('responses', { model: 'general-8b', max_output_tokens: 1, input: 'Hi' });
  await post('embeddings', embedding);
  await post('rerank', { model: 'reranker-v2-m3', query: 'a', documents: ['b'] });
  await post('moderations', { input: 'a' });
  const form = new FormData();
  form.set('purpose', 'batch');
  const line = { custom_id: '1', method: 'POST', url: '/v1/embeddings', body: embedding };
  form.set('file', new File([JSON.stringify(line)], 'lines.jsonl'));
  const file = await post('files', form);
  const batch = { input_file_id: file.id, endpoint: '/v1/embeddings', completion_window: '24h' };
  const { id } = await post('batches', batch);
  const status = async () => (await (await fetch(`${url}/v1/batches/${id}`, { headers })).json()) as { status: string };
  await until(async () => (await status()).status === 'completed');
}

describe('a running service', () => {
  const config = 'models:\n  mine:\n    base_urls: http://127.0.0.1:9\n';
  let service: Service;
  before(async () => {
    service = await startService({ config });
  });
  after(() => service.stop());

  it('has every metric of the Grafana dashboard and of the rules, and documents its own metrics', async () => {
    // Metrics of an activity appear with its first call.
    await callEverything(service);
    const metrics = await (await fetch(`${service.url}/metrics`)).text();
    const exported = new Set([...metrics.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name));
    // Processes of an embedded database share their limits with no other.
    exported.add('quire_rate_limit_exchange_failures_total');
    const dashboard = [...read('deploy/grafana/quire.json').matchAll(/"expr": "([^"\\]|\\.)*"/g)].join('\n');
    const expressions = readRules().map(({ expr }) => expr);
    const used = new Set(
      [...[dashboard, ...expressions].join('\n').matchAll(/\b(?:quire|process|nodejs)_[a-z0-9_]+\b/g)].map(
        ([name]) => name,
      ),
    );
    const missing = [...used].filter(
      // Of services with `QUIRE_BACKUP_URL` (`backup/metrics.test.ts`).
      (name) =>
        !name.startsWith('quire_backup_') &&
        !exported.has(name) &&
        !exported.has(name.replace(/_(bucket|count|sum)$/, '')),
    );
    assert.ok(used.size > 30, `${used.size}`);
    assert.deepEqual(missing, []);
    const documented = read('docs/use/monitoring.md');
    const undocumented = [...exported].filter(
      (name) => name?.startsWith('quire_') && !documented.includes(`\`${name}\``),
    );
    assert.deepEqual(undocumented, []);
  });

  it('names model servers that do not answer', async () => {
    await until(() => /model engine does not answer/.test(service.stderr()));
    assert.match(service.stderr(), /"models":\["mine"\]/);
  });

  it('applies changed models on SIGHUP, and names what needs a restart', async () => {
    writeFileSync(
      join(service.dataDir, 'quire.yaml'),
      `${config}  other:\n    alias: general-8b\nusage_retention_days: 9\n`,
    );
    let hasEnded = false;
    void service.ended.then(() => {
      hasEnded = true;
    });
    service.signal('SIGHUP');
    await until(() => hasEnded || /configuration reloaded/.test(service.stderr()));
    assert.equal(hasEnded, false, 'SIGHUP ended the service');
    const headers = { authorization: `Bearer ${service.key}` };
    assert.equal((await fetch(`${service.url}/v1/models/other`, { headers })).status, 200);
    assert.match(service.stderr(), /"applied":\["models"\],"needRestart":\["usageRetentionDays"\]/);
  });
});
