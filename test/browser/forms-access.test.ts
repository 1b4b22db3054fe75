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
const start = (page: Page) => page.getByRole('heading', { level: 1, name: 'Start' }).waitFor();

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
          await scope.getByRole('combobox', { name: 'Type' }).click();
          await page.getByRole('option', { name: type }).click();
        },
        submit: 'Create',
        request: /^POST \/v1\/knowledge-bases\/\w+\/data-sources$/,
        response: {},
      }));
  }

  it('a test of the connection checks the required fields first', async () => {
    await test.open(`/knowledge-bases/${kbId}?tab=sources`);
    await page.getByRole('button', { name: 'Add data source' }).click();
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

  it('throws no error', () => assert.deepEqual(test.errors, []));
});
