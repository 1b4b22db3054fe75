import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { clientNetwork } from '../lib/client-network.ts';
import { FairSemaphore } from '../lib/fair-semaphore.ts';

/** Bounds of passwords, in characters. NIST SP 800-63B: at least 8, and no rules about their composition. */
export const PASSWORD_LENGTH = { min: 10, max: 256 } as const;

/** Parameters of scrypt. */
export type PasswordCost = Required<Pick<ScryptOptions, 'N' | 'r' | 'p'>>;

/** OWASP Password Storage Cheat Sheet (scrypt): 128 MiB and about 0.3 s for a guess. */
export const PASSWORD_COST: PasswordCost = { N: 2 ** 17, r: 8, p: 1 };
const SALT_BYTES = 16;
const HASH_BYTES = 32;
/**
 * Each computation holds 128 MiB and a thread of the pool that also reads files. Client networks take turns, so that
 * one network delays the others by one computation at most.
 */
const computations = new FairSemaphore({ total: 2, perGroup: 2 });

/** Hashes a password with scrypt and a random salt: `scrypt$N$r$p$salt$hash`, in base64. `address`: of the client. */
export async function hashPassword(password: string, cost: PasswordCost, address = ''): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const hash = await derive(password, salt, { cost, address });
  return ['scrypt', cost.N, cost.r, cost.p, salt.toString('base64'), hash.toString('base64')].join('$');
}

/**
 * Whether a password has this hash. `stored` null: takes as long as a check of a hash of `cost`, so that unknown users
 * are not told apart by time.
 */
export async function verifyPassword(
  password: string,
  stored: string | null,
  cost: PasswordCost,
  address = '',
): Promise<boolean> {
  const [scheme, N, r, p, salt = '', hash = ''] = (stored ?? '').split('$');
  if (scheme !== 'scrypt') {
    await derive(password, Buffer.alloc(SALT_BYTES), { cost, address });
    return false;
  }
  const expected = Buffer.from(hash, 'base64');
  const storedCost = { N: Number(N), r: Number(r), p: Number(p) };
  const actual = await derive(password, Buffer.from(salt, 'base64'), { cost: storedCost, address });
  return timingSafeEqual(actual, expected);
}

/** Unicode spells some characters in several ways, and keyboards differ in the one they type. */
const normalize = (password: string): string => password.normalize('NFKC');

function derive(
  password: string,
  salt: Buffer,
  { cost, address }: { cost: PasswordCost; address: string },
): Promise<Buffer> {
  const options = { ...cost, maxmem: 256 * (cost.N ?? 1) * (cost.r ?? 1) };
  const compute = () =>
    new Promise<Buffer>((resolve, reject) => {
      scrypt(normalize(password), salt, HASH_BYTES, options, (error, key) => (error ? reject(error) : resolve(key)));
    });
  return computations.within(clientNetwork(address), new AbortController().signal, compute);
}
