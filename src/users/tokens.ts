import { createHash, randomBytes } from 'node:crypto';

const TOKEN_BYTES = 32;

/** Returns a token of 256 random bits, base64url, for a session or an invitation. */
export const newToken = (): string => randomBytes(TOKEN_BYTES).toString('base64url');

/** SHA-256 of a token, hexadecimal. Tokens are random, so that a slow hash would add nothing. */
export const hashToken = (token: string): string => createHash('sha256').update(token).digest('hex');
