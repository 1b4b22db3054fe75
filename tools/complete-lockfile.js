/**
 * Completes the lockfiles of the package, the client matrix and the mutation tests with the optional packages of other
 * platforms.
 *
 * npm leaves an optional package out of the lockfile when the registry it locked against did not offer it (a mirror
 * that carries one platform only), and `npm ci` then refuses the lockfile on every machine. This adds each of them by
 * name, version, os and cpu, so that npm skips it where it does not fit and fetches it where it does. Run it after
 * every change of dependencies: `node tools/complete-lockfile.js`. Running it twice changes nothing. `--check` writes
 * nothing, and fails when something is missing.
 */
import { readFileSync, writeFileSync } from 'node:fs';

const OS_WORDS = { mac: 'darwin', darwin: 'darwin', win: 'win32', win32: 'win32', windows: 'win32', linux: 'linux' };
const OTHER_OS = ['android', 'freebsd', 'openbsd', 'netbsd', 'sunos', 'aix', 'openharmony'];
const CPUS = ['arm64', 'x64', 'ia32', 'arm', 'armv7l', 'riscv64', 'ppc64', 's390x', 'loong64', 'mips64el', 'wasm32'];

/** Parses the platform of a package such as `@biomejs/cli-linux-arm64-musl` from its name. */
function platformOf(name) {
  const words = name.split('/').pop().split(/[-.]/);
  const os = words.map((word) => OS_WORDS[word] ?? (OTHER_OS.includes(word) ? word : undefined)).find(Boolean);
  const cpu = words.find((word) => CPUS.includes(word)) ?? (words.includes('riscv64gc') ? 'riscv64' : undefined);
  const libc = words.some((word) => word.startsWith('musl')) ? 'musl' : undefined;
  return {
    ...(cpu && { cpu: [cpu === 'armv7l' ? 'arm' : cpu] }),
    ...(os && { os: [os] }),
    ...(libc && { libc: [libc] }),
  };
}

const LOCKFILES = [
  'package-lock.json',
  'test/client-matrix/package-lock.json',
  'test/chart/package-lock.json',
  'tools/mutation/package-lock.json',
];

/** Adds the missing packages to a lockfile. Returns `name@version` of each. */
function complete(lock) {
  const added = [];
  for (const [at, entry] of Object.entries(lock.packages)) {
    for (const [name, range] of Object.entries(entry.optionalDependencies ?? {})) {
      const nested = `${at}/node_modules/${name}`;
      const hoisted = at.includes('/node_modules/')
        ? `${at.slice(0, at.lastIndexOf('/node_modules/'))}/node_modules/${name}`
        : `node_modules/${name}`;
      const version = range.replace(/^[\^~]/, '');
      const has = [nested, hoisted, `node_modules/${name}`].some((key) => lock.packages[key] !== undefined);
      if (has || !/^\d/.test(version)) continue;
      const platform = platformOf(name);
      if (!platform.os && !platform.cpu) continue;
      const key = lock.packages[hoisted] === undefined ? hoisted : nested;
      lock.packages[key] = { version, ...platform, ...(entry.dev && { dev: true }), optional: true };
      added.push(`${name}@${version}`);
    }
  }
  lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)));
  return added;
}

/**
 * Whether a version range of Node has a part that the major version `lowest` satisfies, as far as its lower bounds say.
 */
function accepts(range, lowest) {
  return range.split('||').some((part) => {
    const major = Number(/\d+/.exec(part)?.[0] ?? 0);
    return major === lowest || (major < lowest && !/^\s*[\^~]?\d/.test(part));
  });
}

/**
 * Removes demands for a newer Node than `engines` of package.json. Packages run on the Node that `npm ci` installs; npm
 * would warn about the one that it runs on itself. `engine-strict` in .npmrc refuses an older Node before anything is
 * installed.
 */
function relaxEngines(lock) {
  const lowest = Number(/\d+/.exec(lock.packages[''].engines?.node ?? '')?.[0]);
  if (Number.isNaN(lowest)) return [];
  const relaxed = Object.entries(lock.packages).filter(
    ([, { engines }]) => engines?.node && !accepts(engines.node, lowest),
  );
  for (const [, entry] of relaxed) delete entry.engines;
  return relaxed.map(([at]) => `no engines of ${at.split('node_modules/').pop()}`);
}

const isCheck = process.argv.includes('--check');
for (const file of LOCKFILES) {
  const path = new URL(`../${file}`, import.meta.url);
  const lock = JSON.parse(readFileSync(path, 'utf8'));
  const added = [...complete(lock), ...relaxEngines(lock)];
  if (!isCheck) writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`);
  else if (added.length > 0) process.exitCode = 1;
  const what = isCheck ? `${file} needs` : `${file}: changed`;
  console.log(added.length === 0 ? `${file} is complete` : `${what} ${added.length}: ${added.join(', ')}`);
}
