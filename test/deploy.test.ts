/** Checks that settings, files and versions named by deployment files exist. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import { loadConfig } from '../src/config.ts';

const ROOT = new URL('../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, ROOT), 'utf8');
const { version } = JSON.parse(read('package.json')) as { version: string };
const COMPOSE_FILES = ['compose.yaml', 'deploy/compose/postgres-minio.yaml', 'deploy/compose/vllm.yaml'];
/** Minimum grace period of supervisors: 30 s of drain, 10 s for aborted requests, then engines and database. */
const SHUTDOWN_SECONDS = 45;

interface Service {
  image?: string;
  extends?: object;
  environment?: Record<string, string>;
  stop_grace_period?: string;
}

/** Lists the services of a compose file that run Quire, with expanded variables. */
function quireServices(path: string): Service[] {
  const filled = read(path).replaceAll(
    /\$\{\w+(?::-([^}]*)|:\?)?\}/g,
    (_, preset?: string) => preset ?? 'x'.repeat(40),
  );
  const { services } = parse(filled, { merge: true }) as { services: Record<string, Service> };
  return Object.values(services).filter(
    (service) => service.extends !== undefined || service.image?.startsWith('quire:'),
  );
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
      assert.ok(read('.dockerignore').includes(`\n!${path}\n`), `.dockerignore excludes ${path}`);
    }
    assertSettings(
      Object.fromEntries([...text.matchAll(/\b(QUIRE_\w+)=(\S+)/g)].map(([, name, value]) => [name, value])),
    );
    assert.ok(text.includes(`image.version="${version}"`));
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
