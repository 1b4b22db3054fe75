import { beforeEach } from 'node:test';
import { type ConsoleUser, PASSWORD } from './console-users.ts';
import { type OidcTest, useOidcApi } from './oidc-browser.ts';

/** Body that starts the linking of an identity. */
export const LINK = { link: true, password: PASSWORD, return_to: '/settings' };

/** Starts an API with an issuer, where each test is another person, and what tests of linked identities read. */
export function useOidcLinking() {
  const test: OidcTest = useOidcApi({ oidcDefaultRole: 'viewer' });
  let persons = 0;
  beforeEach(() => {
    persons += 1;
    test.issuer.person = { sub: `person "${persons}"`, email: `person${persons}@example.com`, email_verified: true };
  });
  const startLink = ({ cookie }: Pick<ConsoleUser, 'cookie'>, body: object = LINK) =>
    test.browser.start(body, { cookie });
  const identitiesOf = async ({ id }: Pick<ConsoleUser, 'id'>): Promise<string[]> => {
    const statement = 'select subject from user_identities where user_id = $1 order by 1';
    const { rows } = await test.api.db.execute(statement, [id]);
    return (rows as { subject: string }[]).map(({ subject }) => subject);
  };
  const auditOf = async ({ id }: ConsoleUser): Promise<[string, object[]][]> => {
    const { json } = await test.api.send('GET', `/v1/admin/audit?resource_id=${id}&limit=100`);
    return json.data.map(({ action, changes }: { action: string; changes: object[] }) => [action, changes]);
  };
  return { test, startLink, identitiesOf, auditOf };
}
