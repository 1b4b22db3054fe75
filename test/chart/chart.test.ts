import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import * as keda from '@kubernetes-models/keda/keda.sh/v1alpha1';
import * as monitoring from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1';
import * as apps from 'kubernetes-models/apps/v1';
import * as autoscaling from 'kubernetes-models/autoscaling/v2';
import * as batch from 'kubernetes-models/batch/v1';
import * as networking from 'kubernetes-models/networking.k8s.io/v1';
import * as policy from 'kubernetes-models/policy/v1';
import * as core from 'kubernetes-models/v1';
import { parse, parseAllDocuments } from 'yaml';
import { loadConfig } from '../../src/config/config.ts';
import { unpackHelm } from './unpack-helm.ts';

const run = promisify(execFile);
const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));
const CHART = path('../../deploy/helm/quire');
const RENDERED = path('node_modules/.rendered');
/** Grace of the shutdown after the drain delay: 30 s for requests, 10 s for aborted ones, then engines and database. */
const SHUTDOWN_SECONDS = 45;

/** Packages with the types and validators of an API version. */
const MODELS: Readonly<Record<string, [module: string, models: object]>> = {
  'apps/v1': ['kubernetes-models/apps/v1', apps],
  'autoscaling/v2': ['kubernetes-models/autoscaling/v2', autoscaling],
  'batch/v1': ['kubernetes-models/batch/v1', batch],
  'keda.sh/v1alpha1': ['@kubernetes-models/keda/keda.sh/v1alpha1', keda],
  'monitoring.coreos.com/v1': ['@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1', monitoring],
  'networking.k8s.io/v1': ['kubernetes-models/networking.k8s.io/v1', networking],
  'policy/v1': ['kubernetes-models/policy/v1', policy],
  v1: ['kubernetes-models/v1', core],
};

interface Variable {
  name: string;
  value?: string;
}

interface Container {
  name: string;
  args: string[];
  env?: Variable[];
  securityContext: { readOnlyRootFilesystem: boolean; allowPrivilegeEscalation: boolean; capabilities: object };
  volumeMounts?: { name: string; mountPath: string }[];
}

interface Pod {
  securityContext: { runAsNonRoot: boolean; runAsUser: number; seccompProfile: { type: string } };
  automountServiceAccountToken: boolean;
  terminationGracePeriodSeconds?: number;
  containers: Container[];
  volumes?: { name: string }[];
}

interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels: Record<string, string>; annotations?: Record<string, string> };
  spec: Record<string, never> & { template?: { spec: Pod; metadata: { labels: object } }; selector?: object };
  data?: Record<string, string>;
}

let helm: string;
before(async () => {
  helm = await unpackHelm();
});

async function render(file: string, ...flags: string[]): Promise<Manifest[]> {
  const values = join(CHART, 'ci', file);
  const command = [
    'template',
    'team',
    CHART,
    '--namespace',
    'ai',
    '--values',
    values,
    '--kube-version',
    '1.35.0',
    ...flags,
  ];
  const { stdout } = await run(helm, command, { maxBuffer: 2 ** 24 });
  return parseAllDocuments(stdout, { version: '1.1', merge: true })
    .map((document) => document.toJS() as Manifest)
    .filter((manifest) => manifest !== null);
}

/** The pods of all manifests. */
const podsIn = (manifests: readonly Manifest[]): Pod[] =>
  manifests.flatMap(({ kind, spec }) => (kind === 'Pod' ? [spec as unknown as Pod] : (spec?.template?.spec ?? [])));

const find = (manifests: readonly Manifest[], kind: string, name: string): Manifest => {
  const manifest = manifests.find((each) => each.kind === kind && each.metadata.name === name);
  assert.ok(manifest, `${kind} ${name}`);
  return manifest;
};

const VALUES = globSync('*.yaml', { cwd: join(CHART, 'ci') }).sort();

describe('the chart', () => {
  for (const file of VALUES) {
    it(`passes the linter with ${file}`, async () => {
      await run(helm, ['lint', '--strict', CHART, '--values', join(CHART, 'ci', file)]);
    });

    it(`renders manifests that the schemas of Kubernetes accept with ${file}, without unknown fields`, async () => {
      const manifests = await render(file);
      assert.ok(manifests.length > 5);
      for (const { apiVersion, kind, ...rest } of manifests) {
        const [, models] = MODELS[apiVersion] ?? assert.fail(`${apiVersion} ${kind}`);
        const Model = (models as Record<string, new (data: object) => { validate(): void }>)[kind];
        assert.ok(Model, `${apiVersion} ${kind}`);
        new Model(rest).validate();
      }
      await requireKnownFields(file, manifests);
    });

    it(`runs every container with ${file} as an ordinary user with a read-only root file system`, async () => {
      for (const { securityContext, automountServiceAccountToken, containers, volumes } of podsIn(await render(file))) {
        assert.deepEqual([securityContext.runAsNonRoot, securityContext.runAsUser], [true, 10001]);
        assert.equal(securityContext.seccompProfile.type, 'RuntimeDefault');
        assert.equal(automountServiceAccountToken, false);
        const names = new Set(volumes?.map(({ name }) => name));
        for (const container of containers) {
          assert.equal(container.securityContext.readOnlyRootFilesystem, true);
          assert.equal(container.securityContext.allowPrivilegeEscalation, false);
          assert.deepEqual(container.securityContext.capabilities, { drop: ['ALL'] });
          for (const { name } of container.volumeMounts ?? []) assert.ok(names.has(name), name);
        }
      }
    });

    it(`sets valid settings with ${file}, and every secret as a file or a reference`, async () => {
      const manifests = await render(file);
      const folder = mkdtempSync(join(tmpdir(), 'quire-chart-'));
      const settings = manifests.find(({ data }) => data?.['quire.yaml'] !== undefined)?.data?.['quire.yaml'] ?? '';
      writeFileSync(join(folder, 'quire.yaml'), settings);
      for (const { containers } of podsIn(manifests))
        for (const { env = [], args } of containers) {
          if (!['api', 'worker'].includes(args[0] ?? '')) continue;
          const config = loadConfig({ QUIRE_CONFIG: join(folder, 'quire.yaml'), ...mountSecrets(env, folder) });
          assert.deepEqual(config.unknownVariables, []);
          assert.equal(config.host, '0.0.0.0');
          assert.ok(config.databaseUrl !== null && config.secretsKey !== null && config.indexUrl !== null);
          for (const { name, value } of env)
            assert.ok(value !== undefined || !name.startsWith('QUIRE_'), `${name} is not a file`);
        }
      rmSync(folder, { recursive: true });
    });
  }

  it('gives the API time to drain and to end running requests', async () => {
    const { spec } = find(await render('required-values.yaml'), 'Deployment', 'team-quire-api');
    const pod = spec.template?.spec;
    const delay = pod?.containers[0]?.env?.find(({ name }) => name === 'QUIRE_DRAIN_DELAY')?.value;
    assert.equal(delay, '5');
    assert.ok((pod?.terminationGracePeriodSeconds ?? 0) > Number(delay) + SHUTDOWN_SECONDS);
    await assert.rejects(
      render('required-values.yaml', '--set', 'api.drainDelaySeconds=11'),
      /terminationGracePeriodSeconds must be at least/,
    );
  });

  it('scales on calls in flight, queue time and waiting jobs, which the rules record', async () => {
    const rules = readFileSync(join(CHART, 'files/quire.rules.yaml'), 'utf8');
    const recorded = new Set([...rules.matchAll(/record: (\S+)/g)].map(([, name]) => name));
    const scalers = (await render('keda-values.yaml')).filter(({ kind }) => kind === 'ScaledObject');
    assert.equal(scalers.length, 2);
    const queries = JSON.stringify(scalers).matchAll(/quire:[a-z0-9_:]+/g);
    const used = new Set([...queries].map(([name]) => name));
    assert.deepEqual([...used].sort(), [...recorded].sort());
    const all = await render('all-values.yaml');
    const hpas = JSON.stringify(all.filter(({ kind }) => kind === 'HorizontalPodAutoscaler'));
    const guide = readFileSync(path('../../docs/use/kubernetes.md'), 'utf8');
    for (const name of ['quire_calls_in_flight', 'quire_call_queue_seconds_p95', 'quire_job_wait_seconds_max']) {
      assert.ok(hpas.includes(name), name);
      assert.ok(guide.includes(`as: ${name}`), `${name} in the guide`);
    }
    assert.equal(
      (find(all, 'Deployment', 'team-quire-api').spec as object as { replicas?: number }).replicas,
      undefined,
    );
  });

  it('has the rules and the dashboard unchanged', async () => {
    const all = await render('all-values.yaml');
    const rules = parse(readFileSync(path('../../deploy/prometheus/quire.rules.yaml'), 'utf8'));
    assert.deepEqual(find(all, 'PrometheusRule', 'team-quire').spec, rules);
    const dashboard = JSON.parse(readFileSync(path('../../deploy/grafana/quire.json'), 'utf8'));
    assert.deepEqual(JSON.parse(find(all, 'ConfigMap', 'team-quire-dashboard').data?.['quire.json'] ?? ''), dashboard);
  });

  it('selects the pods of its own roles only', async () => {
    const manifests = await render('required-values.yaml');
    for (const role of ['api', 'worker']) {
      const { spec } = find(manifests, 'Deployment', `team-quire-${role}`);
      const { matchLabels } = spec.selector as { matchLabels: Record<string, string> };
      assert.equal(matchLabels['app.kubernetes.io/component'], role);
      const budget = find(manifests, 'PodDisruptionBudget', `team-quire-${role}`).spec.selector as object;
      assert.deepEqual(budget, { matchLabels });
    }
  });

  for (const [what, flag, error] of [
    ['values without stores', 'blobsUrl=', /blobsUrl/],
    ['unknown values', 'replicas=3', /replicas/],
    ['a secret among the settings', 'env.QUIRE_SECRETS_KEY=0123456789', /QUIRE_SECRETS_KEY/],
    ['a number of replicas that is none', 'api.replicas=two', /replicas/],
    ['a ServiceMonitor without a token', 'serviceMonitor.enabled=true', /QUIRE_METRICS_TOKEN/],
    [
      'backups of the embedded database',
      'env.QUIRE_BACKUP_URL=s3://backups/quire',
      /back up PostgreSQL and the bucket/,
    ],
    ['the same in quire.yaml', 'config.backup_url=s3://backups/quire', /back up PostgreSQL and the bucket/],
    ['a digest of another form', 'image.digest=sha256:1', /digest/],
  ] as const) {
    it(`rejects ${what}`, async () => {
      await assert.rejects(render('required-values.yaml', '--set', flag), error);
    });
  }
});

/** Writes the secret files of a container, and returns its variables with their paths. */
function mountSecrets(env: readonly Variable[], folder: string): Record<string, string> {
  const samples: Record<string, string> = {
    QUIRE_DATABASE_URL: 'postgres://quire:p%40ss@db/quire',
    QUIRE_BOOTSTRAP_API_KEY: `quire-sk-${'a'.repeat(32)}`,
    QUIRE_SMTP_URL: 'smtps://quire:p%40ss@mail:465',
  };
  const entries = env.map(({ name, value = 'a value' }) => {
    if (!name.endsWith('_FILE')) return [name, value];
    const file = join(folder, name);
    writeFileSync(file, `${samples[name.slice(0, -'_FILE'.length)] ?? 's'.repeat(64)}\n`);
    return [name, file];
  });
  return Object.fromEntries(entries);
}

/** Compiles the manifests as literals of the interfaces of Kubernetes: the compiler rejects unknown fields. */
async function requireKnownFields(file: string, manifests: readonly Manifest[]): Promise<void> {
  mkdirSync(RENDERED, { recursive: true });
  const source = manifests.map(({ apiVersion, kind, ...rest }, index) => {
    const type = `import('${MODELS[apiVersion]?.[0]}').I${kind}`;
    return `export const manifest${index}: ${type} = ${JSON.stringify({ apiVersion, kind, ...rest }, null, 2)};`;
  });
  const target = join(RENDERED, `${file}.ts`);
  writeFileSync(target, source.join('\n'));
  const tsc = path('../../node_modules/typescript/bin/tsc');
  const flags = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--ignoreConfig', target];
  await run(process.execPath, [tsc, ...flags]).catch((error: { stdout?: string }) =>
    assert.fail(error.stdout ?? `${error}`),
  );
}
