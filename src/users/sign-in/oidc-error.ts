/** Reasons why a sign-in through the issuer fails. The console has a sentence for each. */
export const OIDC_ERRORS = [
  'denied',
  'expired',
  'issuer_unavailable',
  'invalid_response',
  'email_unverified',
  'domain_not_allowed',
  'account_exists',
  'unknown_user',
  'no_role',
  'invalid_invitation',
  'last_owner',
  'identity_in_use',
  'session_ended',
  'failed',
] as const;

/** One of `OIDC_ERRORS`. */
export type OidcErrorCode = (typeof OIDC_ERRORS)[number];

/** A sign-in through the issuer failed. Its code leads to a sentence on the sign-in page; `cause` is for the log. */
export class OidcError extends Error {
  override readonly name = 'OidcError';
  readonly code: OidcErrorCode;

  constructor(code: OidcErrorCode, cause?: unknown) {
    super(`OpenID Connect sign-in failed: ${code}`, { cause });
    this.code = code;
  }
}
