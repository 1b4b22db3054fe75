import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  chooseServer,
  type ProgramResult,
  parseAccounts,
  type ServerUser,
  serverUsers,
  type UserContext,
} from './server-user.ts';

const ACCOUNTS = [
  { name: 'root', uid: 0, gid: 0 },
  { name: 'ada', uid: 1000, gid: 1000 },
  { name: 'nobody', uid: 65_534, gid: 65_534 },
];
const linux = (uid: number): UserContext => ({ platform: 'linux', uid, accounts: ACCOUNTS });
const kinds = (context: UserContext) => serverUsers(context).map(({ kind }) => kind);

describe('parseAccounts', () => {
  it('reads names and ids, and skips what is no account', () => {
    assert.deepEqual(parseAccounts('root:x:0:0:root:/root:/bin/bash\n+::::::\n\n# ada:x:1\nada:x:1000:100::/:\n'), [
      { name: 'root', uid: 0, gid: 0 },
      { name: 'ada', uid: 1000, gid: 100 },
    ]);
  });
});

describe('serverUsers', () => {
  it('runs the server as the same user, with and without setpriv, which some machines lack', () => {
    assert.deepEqual(kinds(linux(1000)), ['same user', 'same user']);
    const [first, second] = serverUsers(linux(1000));
    assert.deepEqual(first?.prefix.slice(0, 3), ['setpriv', '--pdeathsig', 'SIGINT']);
    assert.deepEqual(second?.prefix, []);
    assert.equal(first?.dataPath('/srv/a b'), '/srv/a b');
  });

  it('maps root to an account in a user namespace, and falls back to nobody', () => {
    const users = serverUsers(linux(0));
    assert.deepEqual(kinds(linux(0)).slice(0, 2), ['user namespace', 'unprivileged user']);
    const [namespace, unprivileged] = users;
    assert.ok(namespace?.prefix.includes('--map-user=65534'));
    assert.equal(namespace?.ownerUid, 0);
    assert.equal(namespace?.credentials, null);
    assert.deepEqual(unprivileged?.credentials, { uid: 65_534, gid: 65_534 });
    assert.equal(unprivileged?.ownerUid, 65_534);
    // All users may enter the parents of root's data folder.
    for (const user of users) assert.equal(user.dataPath('/root/data'), '/proc/self/cwd');
  });

  it('maps a uid without an account, as OpenShift assigns, and never drops to another user', () => {
    assert.deepEqual(kinds(linux(1_000_650_000)), ['user namespace', 'user namespace']);
    assert.equal(serverUsers(linux(1_000_650_000))[0]?.ownerUid, 1_000_650_000);
  });

  it('knows no accounts on macOS, which has them elsewhere', () => {
    assert.deepEqual(kinds({ platform: 'darwin', uid: 501, accounts: [] }), ['same user']);
    assert.deepEqual(kinds({ platform: 'darwin', uid: 0, accounts: ACCOUNTS }), []);
  });
});

describe('chooseServer', () => {
  const runtime = { folder: '/app/pg', version: '18.4.0' };
  const copy = { folder: '/var/cache/quire/pg', version: '18.4.0' };
  const failed: ProgramResult = { code: 1, stderr: 'unshare failed: Operation not permitted' };
  const ok: ProgramResult = { code: 0, stderr: '' };
  const choose = (context: UserContext, works: (user: ServerUser, program: string) => boolean) =>
    chooseServer(context, runtime, {
      run: async (user, [program = '']) => (works(user, program) ? ok : failed),
      copyRuntime: async () => copy,
    });

  it('takes the first user that works', async () => {
    const { user, runtime: chosen } = await choose(linux(0), () => true);
    assert.equal(user.kind, 'user namespace');
    assert.equal(chosen, runtime);
  });

  it('drops to nobody where user namespaces are not allowed, with a copy of the programs where the installation is closed', async () => {
    const isUnprivileged = (user: ServerUser) => user.kind === 'unprivileged user';
    assert.equal((await choose(linux(0), isUnprivileged)).runtime, runtime);
    const closed = await choose(linux(0), (user, program) => isUnprivileged(user) && !program.startsWith('/app'));
    assert.equal(closed.user.kind, 'unprivileged user');
    assert.equal(closed.runtime, copy);
  });

  it('does without setpriv where it is missing', async () => {
    const { user } = await choose(linux(0), ({ prefix }) => !prefix.includes('setpriv') && prefix.includes('unshare'));
    assert.equal(user.kind, 'user namespace');
  });

  it('says in a sentence why no user works, and what to do', async () => {
    const none = () => false;
    await assert.rejects(
      choose(linux(0), none),
      /^OperatorError: The embedded database cannot run: PostgreSQL does not run as root, .*user namespace: unshare failed: Operation not permitted.*ordinary user.*QUIRE_DATABASE_URL/,
    );
    await assert.rejects(
      choose(linux(12_345), none),
      /does not run as user 12345, which has no entry in \/etc\/passwd/,
    );
    await assert.rejects(choose(linux(1000), none), /its programs cannot be started/);
  });
});
