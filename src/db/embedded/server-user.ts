import { readFileSync } from 'node:fs';
import { OperatorError } from '../../lib/operator-error.ts';
import { programPath, type Runtime } from './runtime.ts';

/** A user account of the machine. */
export interface Account {
  name: string;
  uid: number;
  gid: number;
}

/** The user that runs PostgreSQL, and how programs are started as that user. */
export interface ServerUser {
  kind: 'same user' | 'user namespace' | 'unprivileged user';
  /** Command line prefix. */
  prefix: readonly string[];
  /** User and group of the child process; null for those of this process. */
  credentials: { uid: number; gid: number } | null;
  /** Owner of the database files as seen by this process; null on systems without owners. */
  ownerUid: number | null;
  /** Argument of `-D`: the working directory when the server's user may not enter the parents of the folder. */
  dataPath(folder: string): string;
}

/** Inputs of the choice of a user. */
export interface UserContext {
  platform: string;
  /** Effective user of this process; null on systems without users. */
  uid: number | null;
  accounts: readonly Account[];
}

/** Linux: the kernel sends SIGINT, PostgreSQL's fast shutdown, when this process exits for any reason. */
const END_WITH_PARENT = ['setpriv', '--pdeathsig', 'SIGINT', '--'];
const WORKING_DIRECTORY = '/proc/self/cwd';

/** Collects the inputs from this process. */
export function readUserContext(): UserContext {
  return { platform: process.platform, uid: process.geteuid?.() ?? null, accounts: readAccounts() };
}

function readAccounts(): Account[] {
  try {
    return parseAccounts(readFileSync('/etc/passwd', 'utf8'));
  } catch {
    return [];
  }
}

/** Parses the format of `/etc/passwd`. */
export function parseAccounts(text: string): Account[] {
  return text.split('\n').flatMap((line) => {
    const [name = '', , uid = '', gid = ''] = line.split(':');
    return /^\d+$/.test(uid) && /^\d+$/.test(gid) ? [{ name, uid: Number(uid), gid: Number(gid) }] : [];
  });
}

/**
 * The users that PostgreSQL may run as, best first. It rejects uid 0, and `initdb` rejects a uid without an account.
 *
 * - An ordinary user: as this user.
 * - root, or a uid without an account: in a user namespace that maps this uid to an account. Files belong to this uid,
 *   and the server has no capabilities.
 * - root without user namespaces (sysctl, seccomp): as `nobody`, which owns the files and reaches them through the
 *   working directory only.
 */
export function serverUsers({ platform, uid, accounts }: UserContext): ServerUser[] {
  const account = accounts.find(({ name }) => name === 'nobody') ?? accounts.find((each) => each.uid !== 0);
  const hasAccount = platform !== 'linux' || accounts.some((each) => each.uid === uid);
  const users: ServerUser[] = [];
  if (uid !== 0 && hasAccount) {
    users.push({ kind: 'same user', prefix: [], credentials: null, ownerUid: uid, dataPath: (folder) => folder });
  } else if (platform === 'linux' && account !== undefined) {
    const prefix = ['unshare', '--user', `--map-user=${account.uid}`, `--map-group=${account.gid}`, '--'];
    const dataPath = () => WORKING_DIRECTORY;
    users.push({ kind: 'user namespace', prefix, credentials: null, ownerUid: uid, dataPath });
    if (uid === 0) {
      const credentials = { uid: account.uid, gid: account.gid };
      users.push({ kind: 'unprivileged user', prefix: [], credentials, ownerUid: account.uid, dataPath });
    }
  }
  if (platform !== 'linux') return users;
  return [...users.map((user) => ({ ...user, prefix: [...user.prefix, ...END_WITH_PARENT] })), ...users];
}

/** Exit code and stderr of a program. */
export interface ProgramResult {
  /** 0: success. -1: the program could not be started. */
  code: number;
  stderr: string;
}

/** Functions that `chooseServer` uses; tests replace them. */
export interface ServerProbe {
  run(user: ServerUser, command: readonly string[]): Promise<ProgramResult>;
  copyRuntime(runtime: Runtime): Promise<Runtime>;
}

/** The user and the programs of the server. */
export interface ServerChoice {
  user: ServerUser;
  runtime: Runtime;
}

/**
 * Chooses the first user that can run `postgres` on this machine. Tries instead of deducing whether user namespaces are
 * allowed and folders are accessible: kernels, containers and security modules have many settings for it. A try takes
 * 10 ms.
 */
export async function chooseServer(context: UserContext, runtime: Runtime, probe: ServerProbe): Promise<ServerChoice> {
  const failures: string[] = [];
  for (const user of serverUsers(context)) {
    const version = [programPath(runtime, 'postgres'), '--version'];
    const tried = await probe.run(user, version);
    if (tried.code === 0) return { user, runtime };
    failures.push(`${user.kind}: ${tried.stderr || `exit code ${tried.code}`}`);
    // Root may be able to run programs that the server's user cannot access.
    if (context.uid !== 0 || (await probe.run(user, ['true'])).code !== 0) continue;
    const copy = await probe.copyRuntime(runtime);
    if ((await probe.run(user, [programPath(copy, 'postgres'), '--version'])).code === 0)
      return { user, runtime: copy };
  }
  throw cannotRun(context, [...new Set(failures)]);
}

function cannotRun({ uid, accounts, platform }: UserContext, failures: readonly string[]): OperatorError {
  const reasons = failures.length === 0 ? '' : ` (${failures.join('; ')})`;
  const isUnknown = platform === 'linux' && !accounts.some((each) => each.uid === uid);
  const why =
    uid === 0
      ? 'PostgreSQL does not run as root, and neither a user namespace nor an unprivileged user works here'
      : isUnknown
        ? `PostgreSQL does not run as user ${uid}, which has no entry in /etc/passwd, and user namespaces do not work here`
        : 'its programs cannot be started';
  return new OperatorError(
    `The embedded database cannot run: ${why}${reasons}. Start Quire as an ordinary user with an entry in /etc/passwd, or set QUIRE_DATABASE_URL.`,
  );
}
