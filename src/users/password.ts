import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { FairSemaphore } from '../lib/fair-semaphore.ts';

/** Bounds of passwords, in characters. NIST SP 800-63B: at least 8, and no rules about their composition. */
export const PASSWORD_LENGTH = { min: 10, max: 256 } as const;

/** Parameters of scrypt. */
export type PasswordCost = Required<Pick<ScryptOptions, 'N' | 'r' | 'p'>>;

/** OWASP Password Storage Cheat Sheet (scrypt): 128 MiB and about 0.3 s for a guess. */
export const PASSWORD_COST: PasswordCost = { N: 2 ** 17, r: 8, p: 1 };
const SALT_BYTES = 16;
const HASH_BYTES = 32;
/** Each computation holds 128 MiB and a thread of the pool that also reads files. */
const computations = new FairSemaphore({ total: 2, perGroup: 2 });

/** Hashes a password with scrypt and a random salt: `scrypt$N$r$p$salt$hash`, in base64. */
export async function hashPassword(password: string, cost: PasswordCost): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const hash = await derive(password, salt, cost);
  return ['scrypt', cost.N, cost.r, cost.p, salt.toString('base64'), hash.toString('base64')].join('$');
}

/**
 * Whether a password has this hash. `stored` null: takes as long as a check of a hash of `cost`, so that unknown users are not told apart by
 * time.
 */
export async function verifyPassword(password: string, stored: string | null, cost: PasswordCost): Promise<boolean> {
  const [scheme, N, r, p, salt = '', hash = ''] = (stored ?? '').split('$');
  if (scheme !== 'scrypt') {
    await derive(password, Buffer.alloc(SALT_BYTES), cost);
    return false;
  }
  const expected = Buffer.from(hash, 'base64');
  const actual = await derive(password, Buffer.from(salt, 'base64'), { N: Number(N), r: Number(r), p: Number(p) });
  return timingSafeEqual(actual, expected);
}

/** Unicode spells some characters in several ways, and keyboards differ in the one they type. */
const normalize = (password: string): string => password.normalize('NFKC');

function derive(password: string, salt: Buffer, cost: ScryptOptions): Promise<Buffer> {
  const options = { ...cost, maxmem: 256 * (cost.N ?? 1) * (cost.r ?? 1) };
  const compute = () =>
    new Promise<Buffer>((resolve, reject) => {
      scrypt(normalize(password), salt, HASH_BYTES, options, (error, key) => (error ? reject(error) : resolve(key)));
    });
  return computations.within('', new AbortController().signal, compute);
}
