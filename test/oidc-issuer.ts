/** An OpenID Connect issuer on loopback that signs real tokens, and can sign wrong ones. */
import { generateKeyPairSync, hash, sign } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** The client that the issuer knows. */
export const OIDC_CLIENT = { id: 'quire-console', secret: 'a-client-secret' };

/** What is wrong with the next tokens. */
export type Defect = 'nonce' | 'audience' | 'issuer' | 'expired' | 'alg none' | 'signature' | 'denied' | 'down' | null;

/** A running issuer. */
export interface OidcIssuer {
  url: string;
  /** Claims of the person who signs in next. */
  person: Record<string, unknown>;
  /** Claims that only the userinfo endpoint has. */
  profile: Record<string, unknown>;
  defect: Defect;
  /** Redirect URIs of all sign-ins. */
  redirectUris: string[];
  close(): Promise<void>;
}

interface Grant {
  nonce: string;
  /** By PKCE: the hash of the verifier with the method `S256`, otherwise the verifier. */
  challenge: string;
  method: string;
  redirectUri: string;
}

const base64url = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Starts an issuer. Its authorization endpoint asks nothing: it redirects at once. `host`: its name in URLs. */
export async function startOidcIssuer(host = '127.0.0.1'): Promise<OidcIssuer> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://${host}:${(server.address() as AddressInfo).port}`;
  const issuer: OidcIssuer = {
    url,
    person: { sub: 'person-1' },
    profile: {},
    defect: null,
    redirectUris: [],
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  const endpoints = createEndpoints(issuer);
  server.on('request', async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', url);
    if (issuer.defect === 'down') return void response.destroy();
    const answer = await endpoints[pathname]?.(request, searchParams);
    if (answer === undefined) return void response.writeHead(404).end();
    if ('location' in answer) return void response.writeHead(302, { location: String(answer.location) }).end();
    response.writeHead('error' in answer ? 400 : 200, { 'content-type': 'application/json' });
    return void response.end(JSON.stringify(answer));
  });
  return issuer;
}

type Endpoint = (request: IncomingMessage, query: URLSearchParams) => object | Promise<object>;

function createEndpoints(issuer: OidcIssuer): Record<string, Endpoint> {
  const { url } = issuer;
  const keys = createSigningKeys();
  const grants = new Map<string, Grant>();
  return {
    '/.well-known/openid-configuration': () => ({
      issuer: url,
      authorization_endpoint: `${url}/authorize`,
      token_endpoint: `${url}/token`,
      userinfo_endpoint: `${url}/userinfo`,
      jwks_uri: `${url}/jwks`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
    }),
    '/jwks': () => ({ keys: [keys.jwk] }),
    '/authorize': (_request, query) => {
      const read = (name: string) => query.get(name) ?? '';
      const code = `code-${issuer.redirectUris.length}`;
      const redirectUri = read('redirect_uri');
      grants.set(code, {
        nonce: read('nonce'),
        challenge: read('code_challenge'),
        method: read('code_challenge_method'),
        redirectUri,
      });
      issuer.redirectUris.push(redirectUri);
      const answer = issuer.defect === 'denied' ? { error: 'access_denied' } : { code };
      return { location: `${redirectUri}?${new URLSearchParams({ ...answer, state: read('state') })}` };
    },
    '/userinfo': () => ({ sub: issuer.person['sub'], ...issuer.profile }),
    '/token': async (request) => {
      const body = new URLSearchParams(await text(request));
      const code = body.get('code') ?? '';
      const grant = grants.get(code);
      grants.delete(code);
      const verifier = body.get('code_verifier') ?? '';
      const challenge = grant?.method === 'S256' ? hash('sha256', verifier, 'base64url') : verifier;
      const isClient = body.get('client_id') === OIDC_CLIENT.id && body.get('client_secret') === OIDC_CLIENT.secret;
      const isGranted = grant?.challenge === challenge && grant.redirectUri === body.get('redirect_uri');
      if (grant === undefined || !isGranted || !isClient) return { error: 'invalid_grant' };
      const token = keys.sign(issuer, grant.nonce);
      return { access_token: 'a', token_type: 'Bearer', expires_in: 300, id_token: token };
    },
  };
}

/** The published key, and how ID tokens are signed. */
function createSigningKeys() {
  const keys = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const otherKeys = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return {
    jwk: { ...keys.publicKey.export({ format: 'jwk' }), kid: 'key-1', alg: 'RS256', use: 'sig' },
    sign({ defect, person, url }: OidcIssuer, nonce: string): string {
      const seconds = Math.floor(Date.now() / 1000);
      const header = defect === 'alg none' ? { alg: 'none' } : { alg: 'RS256', kid: 'key-1' };
      const payload = {
        iss: defect === 'issuer' ? 'http://other.example' : url,
        aud: defect === 'audience' ? 'another client' : OIDC_CLIENT.id,
        nonce: defect === 'nonce' ? 'another nonce' : nonce,
        iat: seconds - (defect === 'expired' ? 7200 : 0),
        exp: seconds + (defect === 'expired' ? -3600 : 300),
        ...person,
      };
      const signed = `${base64url(header)}.${base64url(payload)}`;
      if (defect === 'alg none') return `${signed}.`;
      const { privateKey } = defect === 'signature' ? otherKeys : keys;
      return `${signed}.${sign('sha256', Buffer.from(signed), privateKey).toString('base64url')}`;
    },
  };
}
