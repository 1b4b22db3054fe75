import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import {
  accessibilityViolations,
  type ConsoleTest,
  EMAIL,
  PASSWORD,
  SKIP_WITHOUT_CONSOLE,
  startConsole,
} from './console-page.ts';
import { checkForm, type FormCase } from './form-case.ts';

const FILL_IN = 'Fill in this field.';
const TOO_SHORT = 'Enter at least 10 characters.';
/** The first page of owners and operators, and that of others. */
const start = (page: Page) => page.getByRole('heading', { level: 1, name: /^(Start|New chat)$/ }).waitFor();

/** Forms of visitors. `path` gets the token of a link. */
const VISITOR_FORMS: Record<string, FormCase> = {
  'sign-in': {
    path: '/sign-in',
    submit: 'Sign in',
    request: /^POST \/v1\/session$/,
    invalid: { entries: { Email: 'ada' }, field: 'Email', message: 'Enter an email address, such as ada@example.com.' },
    rejected: { entries: { Email: EMAIL, Password: 'wrong' }, message: /password/ },
    corrected: { Password: PASSWORD },
    done: start,
  },
  'account of an invitation': {
    path: '/join#',
    submit: 'Create account',
    request: /^POST \/v1\/invitations\/accept$/,
    invalid: {
      entries: { Email: EMAIL, Name: 'Vera', Password: 'short' },
      field: 'Password',
      message: TOO_SHORT,
    },
    rejected: {
      entries: { Email: EMAIL, Name: 'Vera', Password: 'not the password' },
      field: 'Password',
      message: /must be the password of the account/,
    },
    corrected: { Email: 'vera@example.com' },
    done: start,
  },
  'reset of the password': {
    path: '/reset#',
    submit: 'Set password',
    request: /^POST \/v1\/session\/password-reset$/,
    invalid: { entries: { 'New password': 'short' }, field: 'New password', message: TOO_SHORT },
    rejected: {
      entries: { 'New password': 'a common password' },
      field: 'New password',
      message: /is too common/,
    },
    stub: { param: 'new_password', message: "'new_password' is too common." },
    corrected: { 'New password': 'an uncommon password' },
    done: start,
  },
};

/** Label of each type of data source, with its first required field and entries that the API rejects. */
const SOURCES: Record<string, Pick<FormCase, 'invalid' | 'rejected' | 'corrected'>> = {
  'Web site': {
    invalid: { field: 'URLs', message: FILL_IN },
    rejected: {
      entries: { URLs: 'https://harbour.example/', Schedule: 'sometimes' },
      field: 'Schedule',
      message: /must be an interval/,
    },
    corrected: { Schedule: '6h' },
  },
  'Amazon S3': {
    invalid: { field: 'Bucket', message: FILL_IN },
    rejected: {
      entries: { Bucket: 'NOT A BUCKET', 'Access key ID': 'AKIA1', 'Secret access key': 'secret' },
      field: 'Bucket',
      message: /config\.bucket/,
    },
    corrected: { Bucket: 'harbour' },
  },
  'Google Cloud Storage': {
    invalid: { field: 'Bucket', message: FILL_IN },
    rejected: {
      entries: { Bucket: 'harbour', 'Service account JSON': '{' },
      field: 'Service account JSON',
      message: /must be the JSON of a service account/,
    },
    corrected: { 'Service account JSON': '{}' },
  },
  Confluence: {
    invalid: { field: 'URL', message: FILL_IN },
    rejected: {
      entries: { URL: 'harbour', Email: 'ada@example.com', 'API token': 'token' },
      field: 'URL',
      message: /config\.url/,
    },
    corrected: { URL: 'https://harbour.example/wiki' },
  },
  Notion: {
    invalid: { field: 'Integration token', message: FILL_IN },
    rejected: {
      entries: { 'Integration token': 'token', Schedule: '* * * * *' },
      field: 'Schedule',
      message: /at least five minutes/,
    },
    corrected: { Schedule: '0 3 * * *' },
  },
  'Google Drive': {
    invalid: { field: 'Service account JSON', message: FILL_IN },
    rejected: {
      entries: { 'Service account JSON': '[]' },
      field: 'Service account JSON',
      message: /must be the JSON of a service account/,
    },
    corrected: { 'Service account JSON': '{}' },
  },
  'Uploaded files': {
    invalid: { field: 'File IDs', message: FILL_IN },
    rejected: { entries: { 'File IDs': 'file_nothing' }, field: 'File IDs', message: /file/ },
    corrected: { 'File IDs': 'file_other' },
  },
};

describe('forms of access and data sources', { skip: SKIP_WITHOUT_CONSOLE }, () => {
  let test: ConsoleTest;
  let page: Page;
  let kbId: string;

  before(async () => {
    test = await startConsole();
    page = test.page;
    page.setDefaultTimeout(15_000);
    await page.emulateMedia({ reducedMotion: 'reduce' });
    ({ id: kbId } = await test.call<{ id: string }>('POST', '/v1/knowledge-bases', { name: 'Harbour' }));
  });
  after(() => test?.close());

  /** A new link to the page of a form. */
  const createLink = async (path: string): Promise<string> => {
    if (path === '/join#') {
      const { token } = await test.call<{ token: string }>('POST', '/v1/admin/invitations', { role: 'viewer' });
      return path + token;
    }
    const { data } = await test.call<{ data: { id: string; email: string }[] }>('GET', '/v1/admin/members');
    const vera = data.find(({ email }) => email === 'vera@example.com');
    const created = await test.call<{ token: string }>('POST', `/v1/admin/users/${vera?.id}/password-reset`);
    return path + created.token;
  };

  for (const [name, form] of Object.entries(VISITOR_FORMS)) {
    it(`${name}: errors are at the fields, entries are kept, and a double click sends once`, async () => {
      const visitor = await test.newPage({ reducedMotion: 'reduce', colorScheme: 'dark' });
      visitor.setDefaultTimeout(15_000);
      await visitor.goto(`${test.service.url}/sign-in`);
      const path = form.path.endsWith('#') ? await createLink(form.path) : form.path;
      await checkForm(visitor, { ...form, path });
      await visitor.context().close();
    });
  }

  for (const [type, source] of Object.entries(SOURCES)) {
    it(`data source ${type}: errors are at the fields, entries are kept, and a double click sends once`, () =>
      checkForm(page, {
        ...source,
        path: `/knowledge-bases/${kbId}?tab=sources`,
        open: ['Add data source'],
        prepare: async (scope) => {
          await scope.getByRole('button', { name: type }).click();
          await page.getByRole('dialog', { name: `Add data source: ${type}` }).waitFor();
        },
        submit: 'Create',
        request: /^POST \/v1\/knowledge-bases\/\w+\/data-sources$/,
        response: {},
      }));
  }

  it('a test of the connection checks the required fields first', async () => {
    await test.open(`/knowledge-bases/${kbId}?tab=sources`);
    await page.getByRole('button', { name: 'Add data source' }).click();
    await page.getByRole('button', { name: 'Web site' }).click();
    await page.getByRole('button', { name: 'Test connection' }).click();
    await page.getByLabel(/^URLs/).first().and(page.locator('[aria-invalid=true]:focus')).waitFor();
    assert.equal(await page.getByRole('dialog').getByRole('alert').count(), 0);
  });

  it('metadata that is no JSON object is an error at the field', async () => {
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel(/^URLs/).first().fill('https://harbour.example/');
    await dialog.getByRole('textbox', { name: 'Metadata' }).fill('{"year": ');
    await dialog.getByRole('button', { name: 'Create', exact: true }).click();
    await dialog.getByRole('textbox', { name: 'Metadata' }).and(page.locator('[aria-invalid=true]:focus')).waitFor();
    await dialog.getByText('Enter a JSON object, such as {"year": 2024}.').waitFor();
  });

  it('a key needs a permission, and the message is at the permissions', async () => {
    await test.open('/keys?create=true');
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Name' }).fill('Bot');
    for (const scope of ['inference', 'files', 'knowledge', 'guardrails']) {
      await dialog.getByRole('checkbox', { name: scope, exact: true }).uncheck();
    }
    await dialog.getByRole('button', { name: 'Create', exact: true }).click();
    await dialog.getByText('Choose at least one.').waitFor();
    await dialog.getByRole('checkbox', { name: 'inference', exact: true }).and(page.locator(':focus')).waitFor();
    assert.deepEqual(await accessibilityViolations(page), []);
    assert.deepEqual(
      (await test.call<{ data: { name: string }[] }>('GET', '/v1/admin/keys')).data.filter(
        ({ name }) => name === 'Bot',
      ),
      [],
    );
    await dialog.getByRole('checkbox', { name: 'files', exact: true }).check();
    await dialog.getByText('Choose at least one.').waitFor({ state: 'detached' });
  });

  it('limits of a key: errors are at the fields, entries are kept, and a double click sends once', async () => {
    const { id } = await test.call<{ id: string }>('POST', '/v1/admin/keys', { name: 'Desk' });
    await checkForm(page, {
      path: `/keys/${id}`,
      open: ['Edit'],
      submit: 'Save',
      request: /^PATCH \/v1\/admin\/keys\/\w+$/,
      invalid: { entries: { Name: '' }, field: 'Name', message: FILL_IN },
      rejected: {
        entries: { Name: 'Pier', 'Last day': '2020-01-31' },
        field: 'Last day',
        message: /in the future/,
      },
      corrected: { 'Last day': '' },
    });
  });

  it('topics of a policy: the error of a topic is at its row, also below an empty row', async () => {
    await checkForm(page, {
      path: '/guardrails',
      open: ['Create policy'],
      prepare: async (scope) => {
        for (const _ of [1, 2]) await scope.getByRole('button', { name: 'Add topic' }).click();
      },
      submit: 'Create',
      request: /^POST \/v1\/guardrail-policies$/,
      rejected: { entries: { Name: 'Birds', 'Topic 2': 'owl' }, field: 'Topic 2', message: /is a topic already/ },
      stub: { param: 'topic_deny_list.0.topic', message: "'topic_deny_list.0.topic' is a topic already." },
      corrected: { 'Topic 2': 'falcon' },
    });
  });

  it('search of a knowledge base: errors are at the fields, entries are kept, and a double click sends once', () =>
    checkForm(page, {
      path: `/knowledge-bases/${kbId}?tab=search`,
      submit: 'Search',
      request: /^POST \/v1\/knowledge-bases\/\w+\/retrieve$/,
      invalid: { field: 'Query', message: FILL_IN },
      rejected: { entries: { Query: '  ' }, field: 'Query', message: /query/ },
      corrected: { Query: 'berth' },
      done: () => page.getByText('Nothing was found.').waitFor(),
    }));

  it('a batch that the API rejects is created by the next attempt, with the file of the first', async () => {
    const sent: string[] = [];
    page.on('request', (request) => {
      if (request.method() === 'POST') sent.push(new URL(request.url()).pathname);
    });
    const line = {
      custom_id: '1',
      method: 'POST',
      url: '/v1/chat/completions',
      body: { model: 'general-8b', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 1 },
    };
    const error = { type: 'invalid_request_error', code: 'limit', param: null, message: 'Too many batches.' };
    await page.route('**/v1/batches', (route) =>
      route.request().method() === 'POST'
        ? route.fulfill({ status: 400, json: { error }, headers: { 'x-request-id': 'req_of_the_stub' } })
        : route.fallback(),
    );
    await test.open('/batches');
    await page.getByRole('button', { name: 'Create batch' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog
      .locator('input[type=file]')
      .setInputFiles({ name: 'lines.jsonl', mimeType: 'text/plain', buffer: Buffer.from(JSON.stringify(line)) });
    const create = dialog.getByRole('button', { name: 'Create', exact: true });
    await create.click();
    await dialog.getByRole('alert').getByText('Too many batches.').waitFor();
    await dialog.getByRole('alert').getByText('req_of_the_stub').waitFor({ state: 'attached' });
    assert.deepEqual(await accessibilityViolations(page), []);
    await page.unrouteAll();
    await create.evaluate((button: { click(): void }) => {
      button.click();
      button.click();
    });
    await page.waitForURL(/\/batches\/batch_/);
    assert.deepEqual(sent, ['/v1/files', '/v1/batches', '/v1/batches']);
  });

  it('throws no error', () => assert.deepEqual(test.errors, []));
});
