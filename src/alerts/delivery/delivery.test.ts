import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { eq } from 'drizzle-orm';
import OpenAI from 'openai';
import { until } from '../../../test/deadline.ts';
import { type SmtpServer, startSmtpServer } from '../../../test/fixtures/smtp-server.ts';
import { startServer, type TestServer } from '../../../test/fixtures/upstream-server.ts';
import { assertError, assertSchema, useApi } from '../../../test/harness.ts';
import { auditEvents } from '../../audit/tables.ts';
import { listSchema } from '../../db/page.ts';
import { newId } from '../../lib/ids.ts';
import { reconcileAlerts } from '../evaluate-alerts.ts';
import type { AlertCause } from '../find-causes.ts';
import { alerts } from '../tables.ts';
import { deliverAlert } from './deliver-alert.ts';
import { DELIVER_ALERT, MAX_ATTEMPTS } from './queue-deliveries.ts';
import { AlertChannelResource, AlertChannelWithSecret, AlertDeliveryResource } from './schema.ts';
import { renderEmail } from './send-email.ts';
import { signWebhook } from './sign-webhook.ts';
import { alertChannels, alertDeliveries } from './tables.ts';

const config = {
  allowPrivateHosts: ['127.0.0.1'],
  publicUrl: 'https://quire.example',
  smtpUrl: 'smtp://set-below',
  smtpFrom: '"Quire, the service" <quire@example.com>',
};
const api = useApi({ jobs: [DELIVER_ALERT], config });
/** Service with a running worker. Tests run the jobs of the other services themselves. */
const working = useApi({ jobs: [DELIVER_ALERT], config });
const withoutMail = useApi({ jobs: [DELIVER_ALERT], config: { smtpUrl: null, smtpFrom: null } });
const CHANNELS = '/v1/alert-channels';
let smtp: SmtpServer;
let hook: TestServer;
/** Status of the receiver's next responses. */
let status = 200;

before(async () => {
  smtp = await startSmtpServer();
  hook = await startServer((_request, response) => void response.writeHead(status).end('ok'));
});
after(async () => {
  await hook.close();
  await smtp.close();
});
beforeEach(async () => {
  api.deps.config.smtpUrl = smtp.url.replace('//', `//quire:${encodeURIComponent('p@ss "1"')}@`);
  for (const table of [alertChannels, alerts]) await api.db.sql.delete(table);
  status = 200;
  smtp.reply = '250 accepted';
  hook.requests.length = 0;
  smtp.mails.length = 0;
});

const create = (body: object, key = api.key) => api.send('POST', CHANNELS, { key, body });
const webhook = (fields: object = {}) => ({
  type: 'webhook',
  name: 'Pager "1"',
  url: `${hook?.baseUrl}/in?a="1"`,
  ...fields,
});
const email = (fields: object = {}) => ({
  type: 'email',
  name: 'Team',
  addresses: ['a@example.com', 'b+c@example.com'],
  ...fields,
});
const deliver = (id: string, signal = new AbortController().signal) => deliverAlert(api.deps, id, signal);
const log = async (channelId: string) => (await api.send('GET', `${CHANNELS}/${channelId}/deliveries`)).json.data;
const test = async (channelId: string) => (await api.send('POST', `${CHANNELS}/${channelId}/test`)).json.id;
/** Unfolds continued header lines. */
const unfold = (content = '') => content.replaceAll(/\n[ \t]+/g, ' ');

const details = {
  error: 'closed',
  models: ['m'],
  since: null,
  threshold_percent: null,
  amount_micros: null,
  is_enforced: null,
};
const cause = (organizationId: string): AlertCause => ({
  organizationId,
  kind: 'upstream_unhealthy',
  subject: 'http://a:1',
  name: 'http://a:1',
  path: '/models',
  details,
});
const reconcile = (...causes: AlertCause[]) => reconcileAlerts(api.deps, 'upstream_unhealthy', causes);

describe('signWebhook', () => {
  it('signs the example of Standard Webhooks as its libraries do', () => {
    const message = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', timestamp: 1_614_265_330, body: '{"test": 2432232314}' };
    assert.deepEqual(signWebhook('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', message), {
      'webhook-id': message.id,
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    });
  });
});

describe('a webhook', () => {
  it('gets an alert when it opens and when it is resolved, signed so that an independent client accepts it', async () => {
    const { deps } = working;
    deps.jobs.work(DELIVER_ALERT, ({ deliveryId }, signal) => deliverAlert(deps, deliveryId, signal));
    const { organizationId } = await working.makeKey();
    const created = await working.send('POST', CHANNELS, { body: webhook() });
    assertSchema(AlertChannelWithSecret, created.json);
    const { id, secret } = created.json;
    await reconcileAlerts(deps, 'upstream_unhealthy', [cause(organizationId), cause('another')]);
    await reconcileAlerts(deps, 'upstream_unhealthy', []);
    await until(async () => {
      const { data } = (await working.send('GET', `${CHANNELS}/${id}/deliveries`)).json;
      return data.filter((row: AlertDeliveryResource) => row.status === 'delivered').length === 2;
    });
    const types = hook.requests.map(({ body }) => body?.['type']).toSorted();
    assert.deepEqual(types, ['alert.opened', 'alert.resolved'], 'nothing of another organization');
    const client = new OpenAI({ apiKey: 'x' });
    for (const { headers, body } of hook.requests) {
      const text = JSON.stringify(body);
      const sent = new Headers(headers as Record<string, string>);
      await client.webhooks.verifySignature(text, sent, secret);
      await assert.rejects(client.webhooks.verifySignature(`${text} `, sent, secret));
      assert.match(text, /"name":"http:\/\/a:1"/);
    }
    assert.equal(new Set(hook.requests.map(({ headers }) => headers['webhook-id'])).size, 2);
  });

  it('is tried again with the same id and content until it answers with 2xx; the log has the last error', async () => {
    const { id, secret } = (await create(webhook())).json;
    const deliveryId = await test(id);
    for (status of [500, 302, 404]) await assert.rejects(deliver(deliveryId), new RegExp(`status ${status}`));
    const [failing] = await log(id);
    assertSchema(listSchema(AlertDeliveryResource), (await api.send('GET', `${CHANNELS}/${id}/deliveries`)).json);
    assert.deepEqual(
      [failing.status, failing.attempts, failing.last_error],
      ['pending', 3, 'The receiver answered with status 404.'],
    );
    status = 204;
    await deliver(deliveryId);
    await deliver(deliveryId);
    const [done] = await log(id);
    assert.deepEqual([done.status, done.attempts, done.last_error], ['delivered', 4, null]);
    assert.equal(hook.requests.length, 4, 'a delivered message is not sent again');
    assert.deepEqual([...new Set(hook.requests.map(({ headers }) => headers['webhook-id']))], [deliveryId]);
    assert.equal(new Set(hook.requests.map(({ body }) => JSON.stringify(body))).size, 1);
    assert.ok(!JSON.stringify(await api.db.sql.select().from(alertChannels)).includes(secret.slice(6)));
  });

  it('a failure that stays ends the delivery: 410, the last attempt, a secret of another key', async () => {
    const { id } = (await create(webhook())).json;
    status = 410;
    await deliver(await test(id));
    assert.match((await log(id))[0].last_error, /status 410/);
    status = 500;
    const deliveryId = await test(id);
    for (let attempt = 1; attempt < MAX_ATTEMPTS; attempt += 1) await assert.rejects(deliver(deliveryId));
    await deliver(deliveryId);
    assert.deepEqual([(await log(id))[0].status, (await log(id))[0].attempts], ['failed', MAX_ATTEMPTS]);
    await api.db.sql.update(alertChannels).set({ sealedSecret: 'AAAA' });
    await deliver(await test(id));
    assert.match((await log(id))[0].last_error, /cannot be decrypted/);
  });

  it('does not reach private addresses that the operator has not allowed', async () => {
    const { id } = (await create(webhook())).json;
    const deliveryId = await test(id);
    const deps = { ...api.deps, config: { ...api.deps.config, allowPrivateHosts: null } };
    await assert.rejects(deliverAlert(deps, deliveryId, new AbortController().signal), /private or otherwise blocked/);
    assert.equal(hook.requests.length, 0);
    assert.match((await log(id))[0].last_error, /QUIRE_ALLOW_PRIVATE_HOSTS/);
  });

  it('an attempt of a process that stops does not count', async () => {
    const { id } = (await create(webhook())).json;
    const deliveryId = await test(id);
    await assert.rejects(deliver(deliveryId, AbortSignal.abort(new Error('stopping'))), /stopping/);
    assert.deepEqual([(await log(id))[0].status, (await log(id))[0].attempts], ['pending', 0]);
  });
});

describe('an email', () => {
  it('goes to every address with summary, consequence, next step and link, under one message id', async () => {
    const { id } = (await create(email())).json;
    const { organizationId } = await api.makeKey();
    await reconcile({ ...cause(organizationId), name: 'x\r\nBcc: evil@example.com' });
    const [{ id: deliveryId }] = await log(id);
    smtp.reply = '451 try again';
    await assert.rejects(deliver(deliveryId), /451/);
    assert.match((await log(id))[0].last_error, /451/);
    smtp.reply = '250 accepted';
    await deliver(deliveryId);
    const [mail, ...more] = smtp.mails;
    assert.deepEqual([mail?.from, mail?.to, more], ['quire@example.com', ['a@example.com', 'b+c@example.com'], []]);
    const [head = '', text = ''] = unfold(mail?.content).split('\n\n');
    assert.match(head, new RegExp(`^Message-ID: <${deliveryId}@quire>$`, 'm'));
    assert.match(head, /^Subject: \[Quire\] Alert: The server x\s+Bcc: evil@example.com does not answer/m);
    assert.ok(!/^Bcc:/m.test(head), 'a name adds no header');
    assert.ok(text !== '' && mail?.content.includes('https://quire.example/models'));
    assert.equal(smtp.logins.at(-1), '\u0000quire\u0000p@ss "1"');
  });

  it('says that the cause has ended, and has no link without QUIRE_PUBLIC_URL', () => {
    const alert = { summary: 'S.', consequence: 'C.', next_step: 'N.', path: '/models' } as never;
    assert.equal(renderEmail('alert.resolved', alert, null).text, 'The cause of this alert has ended.\n\nS.\n');
    assert.equal(renderEmail('alert.opened', alert, 'http://q').text, 'S.\n\nC.\n\nN.\n\nhttp://q/models\n');
  });
});

describe('/v1/alert-channels', () => {
  it('creates, lists, tests and deletes channels; the secret is shown once, and changes are audited', async () => {
    const { json } = await create(webhook());
    const { secret, ...shown } = json;
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
    const list = await api.send('GET', CHANNELS);
    assertSchema(listSchema(AlertChannelResource), list.json);
    assert.deepEqual(list.json.data, [shown]);
    const tested = await api.send('POST', `${CHANNELS}/${json.id}/test`);
    assertSchema(AlertDeliveryResource, tested.json);
    assert.deepEqual([tested.json.event, tested.json.status, tested.json.attempts], ['alert.test', 'pending', 0]);
    const path = `${CHANNELS}/${json.id}`;
    assert.deepEqual((await api.send('DELETE', path)).json, { id: json.id, object: 'alert_channel', deleted: true });
    for (const [method, url] of [
      ['DELETE', path],
      ['POST', `${path}/test`],
      ['GET', `${path}/deliveries`],
    ] as const) {
      assertError(await api.send(method, url), 404, 'alert_channel_not_found', 'channel_id');
    }
    await deliver(tested.json.id);
    assert.equal(hook.requests.length, 0, 'messages of a deleted channel are not sent');
    const events = await api.db.sql.select().from(auditEvents);
    const actions = events.filter(({ resourceId }) => resourceId === json.id).map(({ action }) => action);
    assert.deepEqual(actions, ['alert_channel.created', 'alert_channel.deleted']);
  });

  it('PATCH changes what it names; the secret stays and is not shown unless it is replaced', async () => {
    const { secret, ...before } = (await create(webhook())).json;
    const path = `${CHANNELS}/${before.id}`;
    const waiting = await test(before.id);
    const renamed = await api.send('PATCH', path, { body: { name: "Team's" } });
    assertSchema(AlertChannelWithSecret, renamed.json);
    assert.deepEqual(renamed.json, { ...before, name: "Team's", secret: null });
    const url = `${hook.baseUrl}/other`;
    assert.deepEqual((await api.send('PATCH', path, { body: { url } })).json.url, url);
    await deliver(waiting);
    const rotated = await api.send('PATCH', path, { body: { rotate_secret: true } });
    assert.match(rotated.json.secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
    assert.notEqual(rotated.json.secret, secret);
    await deliver(await test(before.id));
    const client = new OpenAI({ apiKey: 'x' });
    for (const [index, signedWith] of [secret, rotated.json.secret].entries()) {
      const { path: sentTo, headers, body } = hook.requests[index] ?? assert.fail();
      assert.equal(sentTo, new URL(url).pathname);
      await client.webhooks.verifySignature(JSON.stringify(body), new Headers(headers as never), signedWith);
    }
    assert.deepEqual((await api.send('PATCH', path, { body: {} })).json, {
      ...before,
      name: "Team's",
      url,
      secret: null,
    });
    const events = await api.db.sql
      .select()
      .from(auditEvents)
      .where(eq(auditEvents.resourceId, before.id))
      .orderBy(auditEvents.id);
    assert.deepEqual(
      events.slice(1).map(({ changes }) => changes.map(({ field }) => field)),
      [['name'], ['url'], ['secret'], []],
    );
    const { id } = (await create(email())).json;
    const changed = await api.send('PATCH', `${CHANNELS}/${id}`, { body: { addresses: ['c@example.com'] } });
    assert.deepEqual([changed.json.addresses, changed.json.secret], [['c@example.com'], null]);
  });

  it('PATCH: 400 naming the field, 401, 403 and 404', async () => {
    const { id } = (await create(webhook())).json;
    const { id: mail } = (await create(email())).json;
    for (const [each, body, param] of [
      [id, { name: '' }, 'name'],
      [id, { url: 'file:///etc/passwd' }, 'url'],
      [id, { url: null }, 'url'],
      [id, { addresses: ['a@b'] }, 'addresses'],
      [id, { instance_alerts: 'yes' }, 'instance_alerts'],
      [mail, { url: 'https://a.example/' }, 'url'],
      [mail, { rotate_secret: true }, 'rotate_secret'],
      [mail, { addresses: ['a@b', 'Ada <a@b>'] }, 'addresses.1'],
    ] as const) {
      assertError(await api.send('PATCH', `${CHANNELS}/${each}`, { body }), 400, 'invalid_value', param);
    }
    const change = (each: string, key: string | null, body: object = { name: 'x' }) =>
      api.send('PATCH', `${CHANNELS}/${each}`, { key, body });
    assertError(await change(id, null), 401, 'invalid_api_key');
    const { key: narrow } = await api.makeKey({ scopes: ['inference'] });
    assertError(await change(id, narrow), 403, 'insufficient_scope');
    const { key: foreign } = await api.makeKey({ organization: 'fourth', scopes: ['keys'] });
    for (const [each, key] of [
      [id, foreign],
      [newId('alertChannel'), api.key],
      ['x', api.key],
    ] as const) {
      assertError(await change(each, key), 404, 'alert_channel_not_found', 'channel_id');
    }
    const { key: owner } = await api.makeKey({ scopes: ['keys'] });
    assertError(await change(id, owner, { instance_alerts: true }), 403, 'insufficient_scope', 'instance_alerts');
    await change(id, api.key, { instance_alerts: true });
    for (const body of [{ url: 'https://evil.example/' }, { instance_alerts: false, url: 'https://evil.example/' }])
      assertError(await change(id, owner, body), 403, 'insufficient_scope', 'instance_alerts');
    const { data } = (await api.send('GET', CHANNELS)).json;
    assert.deepEqual(
      data.map(({ name, url }: AlertChannelResource) => [name, url]),
      [
        ['Pager "1"', webhook().url.replaceAll('"', '%22')],
        ['Team', null],
      ],
    );
  });

  it('alerts of the instance are sent to channels of operators that ask for them', async () => {
    const { key } = await api.makeKey({ organization: 'owners', scopes: ['keys'] });
    const rejected = await create(webhook({ instance_alerts: true }), key);
    assertError(rejected, 403, 'insufficient_scope', 'instance_alerts');
    const { id: plain } = (await create(webhook())).json;
    const { id } = (await create(webhook({ instance_alerts: true }))).json;
    await reconcile(cause(''));
    assert.deepEqual([(await log(id)).length, (await log(plain)).length], [1, 0]);
  });

  const invalid: [object, string, string?][] = [
    [{ name: 'x', url: 'https://a' }, 'type', 'missing_required_field'],
    [webhook({ type: 'sms' }), 'type'],
    [webhook({ name: '' }), 'name'],
    [webhook({ name: 'x'.repeat(65) }), 'name'],
    [webhook({ name: 'a\u0000' }), 'name'],
    [webhook({ url: undefined }), 'url', 'missing_required_field'],
    [webhook({ url: 'file:///etc/passwd' }), 'url'],
    [webhook({ url: 'https://a:b@host/' }), 'url'],
    [webhook({ url: `https://host/${'a'.repeat(2_048)}` }), 'url'],
    [email({ addresses: undefined }), 'addresses', 'missing_required_field'],
    [email({ addresses: [] }), 'addresses'],
    [email({ addresses: Array(21).fill('a@b') }), 'addresses'],
    [email({ addresses: ['a@b\r\nBcc: c@d'] }), 'addresses.0'],
    [email({ addresses: ['a@b', 'Ada <a@b>'] }), 'addresses.1'],
  ];
  for (const [body, param, code = 'invalid_value'] of invalid) {
    it(`rejects ${JSON.stringify(body).slice(0, 60)} naming ${param}`, async () => {
      assertError(await create(body), 400, code, param);
    });
  }

  it('takes 20 channels of an organization, and names of 64 characters', async () => {
    const { key } = await api.makeKey({ organization: 'many', scopes: ['keys'] });
    for (let i = 0; i < 20; i += 1) assert.equal((await create(webhook({ name: 'x'.repeat(64) }), key)).status, 200);
    assertError(await create(webhook(), key), 400, 'invalid_value', 'name');
    assert.equal((await create(webhook())).status, 200, 'of another organization');
  });

  it('email needs a mail server', async () => {
    assertError(await withoutMail.send('POST', CHANNELS, { body: email() }), 400, 'invalid_value', 'type');
    assert.equal((await withoutMail.send('POST', CHANNELS, { body: webhook() })).status, 200);
  });

  it('returns 401, 403, and 404 for unknown ids and ids of another organization', async () => {
    const { key } = await api.makeKey({ organization: 'third', scopes: ['inference'] });
    const { key: owner } = await api.makeKey({ organization: 'third', scopes: ['keys'] });
    assertError(await create(webhook(), key), 403, 'insufficient_scope');
    assertError(await api.send('GET', CHANNELS, { key: null }), 401, 'invalid_api_key');
    assertError(await api.send('GET', `${CHANNELS}?limit=101`), 400, 'invalid_value', 'limit');
    const { id } = (await create(webhook())).json;
    for (const each of [id, newId('alertChannel'), 'x']) {
      const answer = await api.send('DELETE', `${CHANNELS}/${each}`, { key: owner });
      assertError(answer, 404, 'alert_channel_not_found', 'channel_id');
    }
    const deliveries = await api.db.sql.select().from(alertDeliveries);
    assert.deepEqual(deliveries, [], 'nothing was sent');
  });
});
