import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { type ConsoleTest, PASSWORD, SKIP_WITHOUT_CONSOLE, startConsole } from './console-page.ts';
import { checkForm, type FormCase } from './form-case.ts';

const FILL_IN = 'Fill in this field.';

/** Forms of the pages, in the order in which one prepares the next. */
const FORMS: Record<string, FormCase> = {
  'change of the password': {
    path: '/settings',
    submit: 'Change password',
    request: /^POST \/v1\/session\/password$/,
    invalid: { field: 'Current password', message: FILL_IN },
    rejected: {
      entries: { 'Current password': 'wrong', 'New password': 'another password' },
      field: 'Current password',
      message: /'current_password' is wrong/,
    },
    corrected: { 'Current password': PASSWORD },
    done: (page) => page.getByText('The password was changed.').waitFor(),
  },
  invitation: {
    path: '/members',
    open: ['Invite'],
    submit: 'Invite',
    request: /^POST \/v1\/admin\/invitations$/,
    rejected: { entries: { 'For whom': 'Vera' }, field: 'For whom', message: /'note' is rejected/ },
    stub: { param: 'note', message: "'note' is rejected." },
    corrected: { 'For whom': 'Vera' },
    done: (page) => page.getByText(/\/join#/).waitFor(),
  },
  'new organization': {
    path: '/organizations',
    open: ['Create organization'],
    submit: 'Create',
    request: /^POST \/v1\/admin\/organizations$/,
    invalid: { field: 'Name', message: FILL_IN },
    rejected: { entries: { Name: 'default' }, field: 'Name', message: /is taken/ },
    corrected: { Name: 'Shipyard' },
  },
  'name of an organization': {
    path: '',
    open: ['Rename: Shipyard'],
    submit: 'Save',
    request: /^PATCH \/v1\/admin\/organizations\/\w+$/,
    invalid: { entries: { Name: '' }, field: 'Name', message: FILL_IN },
    rejected: { entries: { Name: 'default' }, field: 'Name', message: /is taken/ },
    corrected: { Name: 'Dock' },
  },
  credits: {
    path: '',
    open: ['Credits: Dock', 'Change credits'],
    submit: 'Save',
    request: /^PUT \/v1\/admin\/credits\/\w+$/,
    invalid: { field: 'New balance', message: FILL_IN },
    rejected: {
      entries: { 'New balance': '99999999999', Reason: 'Gift' },
      field: 'New balance',
      message: /balance_micros/,
    },
    corrected: { 'New balance': '20' },
    done: (page) => page.getByRole('dialog').getByText('$20.00').first().waitFor(),
  },
  'new knowledge base': {
    path: '/knowledge-bases',
    open: ['Create knowledge base'],
    submit: 'Create',
    request: /^POST \/v1\/knowledge-bases$/,
    invalid: { field: 'Name', message: FILL_IN },
    rejected: {
      entries: { Name: 'Harbour', Description: 'Berths', 'Embedding model': 'nothing' },
      field: 'Embedding model',
      message: /nothing/,
    },
    corrected: { 'Embedding model': '' },
    done: (page) => page.getByRole('heading', { level: 1, name: 'Harbour' }).waitFor(),
  },
  'name of a knowledge base': {
    path: '',
    open: ['Edit'],
    submit: 'Save',
    request: /^PATCH \/v1\/knowledge-bases\/\w+$/,
    invalid: { entries: { Name: '' }, field: 'Name', message: FILL_IN },
    rejected: { entries: { Name: '  ' }, field: 'Name', message: /must not be blank/ },
    corrected: { Name: 'Port' },
  },
  'new key': {
    path: '/keys',
    open: ['Create key'],
    submit: 'Create',
    request: /^POST \/v1\/admin\/keys$/,
    invalid: { field: 'Name', message: FILL_IN },
    rejected: { entries: { Name: 'Bot', 'Last day': '2020-01-31' }, field: 'Last day', message: /in the future/ },
    corrected: { 'Last day': '' },
    done: (page) => page.getByText(/^quire-sk-/).waitFor(),
  },
  'new MCP server': {
    path: '/mcp-servers',
    open: ['Register server'],
    submit: 'Create',
    request: /^POST \/v1\/mcp-servers$/,
    invalid: { field: 'Label', message: FILL_IN },
    rejected: {
      entries: { Label: 'weather', Address: 'ftp://mcp.example/' },
      field: 'Address',
      message: /must be an http or https URL/,
    },
    corrected: { Address: 'https://mcp.example/weather' },
  },
  'new policy': {
    path: '/guardrails',
    open: ['Create policy'],
    submit: 'Create',
    request: /^POST \/v1\/guardrail-policies$/,
    invalid: { field: 'Name', message: FILL_IN },
    rejected: { entries: { Name: '  ' }, field: 'Name', message: /must not be blank/ },
    corrected: { Name: 'Projects' },
  },
  'dry run of a policy': {
    path: '',
    open: ['Dry run:'],
    submit: 'Check',
    request: /^POST \/v1\/guardrail-policies\/\w+\/test$/,
    invalid: { field: 'Text to check against this policy. Nothing is stored.', message: FILL_IN },
    rejected: {
      entries: { 'Text to check against this policy. Nothing is stored.': 'An owl.' },
      field: 'Text to check against this policy. Nothing is stored.',
      message: /is too long/,
    },
    stub: { param: 'input', message: "'input' is too long." },
    corrected: { 'Text to check against this policy. Nothing is stored.': 'A falcon.' },
    done: (page) => page.getByRole('progressbar', { name: 'Violence' }).waitFor(),
  },
  'pull of a model': {
    path: '/models?tab=catalogue',
    submit: 'Pull',
    request: /^POST \/v1\/admin\/model-pulls$/,
    invalid: { field: 'Model to pull', message: FILL_IN },
    rejected: {
      entries: { 'Model to pull': 'https://models.example/x' },
      field: 'Model to pull',
      message: /not accepted/,
    },
    corrected: { 'Model to pull': 'hf:owner/repository/file.gguf' },
    response: {},
    done: (page) => page.getByRole('alert').waitFor({ state: 'detached' }),
  },
};

describe('forms of the console', { skip: SKIP_WITHOUT_CONSOLE }, () => {
  let test: ConsoleTest;
  let page: Page;

  before(async () => {
    test = await startConsole();
    page = test.page;
    page.setDefaultTimeout(15_000);
    await page.emulateMedia({ reducedMotion: 'reduce' });
  });
  after(() => test?.close());

  for (const [name, form] of Object.entries(FORMS)) {
    it(`${name}: errors are at the fields, entries are kept, and a double click sends once`, () =>
      checkForm(page, form));
  }

  it('throws no error', () => assert.deepEqual(test.errors, []));
});
