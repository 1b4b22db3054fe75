import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { startServer, type TestServer } from '../fixtures/upstream-server.ts';
import {
  accessibilityViolations,
  type ConsoleTest,
  chooseAction,
  inspectPage,
  SKIP_WITHOUT_CONSOLE,
  startConsole,
} from './console-page.ts';

/** The service evaluates alerts twice a minute, and the bell reads them as often. */
const RAISED_MS = 120_000;

describe('alerts in the console', { skip: SKIP_WITHOUT_CONSOLE }, () => {
  let test: ConsoleTest;
  let page: Page;
  let hook: TestServer;

  before(async () => {
    hook = await startServer((_request, response) => void response.writeHead(204).end());
    test = await startConsole({ env: { QUIRE_ALLOW_PRIVATE_HOSTS: '127.0.0.1' } });
    page = test.page;
    await page.emulateMedia({ reducedMotion: 'reduce' });
  });
  after(async () => {
    await test?.close();
    await hook?.close();
  });

  it('an owner adds a webhook, sees its secret once, and a test arrives there', async () => {
    await test.open('/alerts/channels');
    await page.getByRole('button', { name: 'Add channel' }).first().click();
    const dialog = page.getByRole('dialog', { name: 'Add channel' });
    await dialog.getByLabel('Name').fill('Pager "1"');
    await dialog.getByLabel('Address').fill(hook.baseUrl);
    assert.deepEqual(await accessibilityViolations(page), []);
    await dialog.getByRole('button', { name: 'Create' }).click();
    const secret = page.getByRole('dialog', { name: 'Secret of the webhook' });
    await secret.getByText(/^whsec_/).waitFor();
    await secret.getByRole('button', { name: 'Close' }).last().click();
    await chooseAction(page, 'Send test: Pager "1"');
    const log = page.getByRole('dialog', { name: 'Deliveries: Pager "1"' });
    await log.getByText('Delivered').waitFor({ timeout: RAISED_MS });
    assert.equal(hook.requests[0]?.body?.['type'], 'alert.test');
    await page.keyboard.press('Escape');
    assert.deepEqual(await inspectPage(page), []);
  });

  it('an owner changes a webhook: its secret stays unless a new one is chosen', async () => {
    await test.open('/alerts/channels');
    await chooseAction(page, 'Change: Pager "1"');
    const dialog = page.getByRole('dialog', { name: 'Change channel' });
    assert.equal(await dialog.getByLabel('Address').inputValue(), hook.baseUrl);
    await dialog.getByLabel('Name').fill('Pager "2"');
    await dialog.getByLabel('Address').fill('ftp://a');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText(/http/).first().waitFor();
    await dialog.getByLabel('Address').fill(`${hook.baseUrl}/new`);
    assert.deepEqual(await accessibilityViolations(page), []);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('cell', { name: `${hook.baseUrl}/new` }).waitFor();
    const secret = page.getByRole('dialog', { name: 'Secret of the webhook' });
    assert.equal(await secret.count(), 0, 'the secret stays');
    await chooseAction(page, 'Change: Pager "2"');
    await dialog.getByRole('switch', { name: 'New secret' }).press('Space');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await secret.getByText(/^whsec_/).waitFor();
    await secret.getByRole('button', { name: 'Close' }).last().click();
  });

  it('a spent budget appears at the bell, is acknowledged, and leads to the budget', async () => {
    await test.open('/alerts/budgets');
    await page.getByRole('button', { name: 'Create budget' }).first().click();
    const dialog = page.getByRole('dialog', { name: 'Create budget' });
    await dialog.getByLabel('Name').fill("Team 'A'");
    await dialog.getByLabel('Amount per month').fill('0.000001');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('cell', { name: "Team 'A'" }).waitFor();
    const messages = [{ role: 'user', content: 'Hello' }];
    await test.call('POST', '/v1/chat/completions', { model: 'general-8b', messages, max_tokens: 1 });
    const bell = page.getByRole('button', { name: 'Notifications: 3 new' });
    await bell.waitFor({ timeout: RAISED_MS });
    await bell.click();
    const sheet = page.getByRole('dialog', { name: 'Notifications' });
    const alert = sheet.getByRole('article', { name: "100% of this month’s budget “Team 'A'” has been spent." });
    await alert.getByText('Calls are still accepted.').waitFor();
    assert.deepEqual(await accessibilityViolations(page), []);
    await alert.getByRole('button', { name: 'Acknowledge' }).click();
    await alert.getByText('Acknowledged').waitFor();
    await test.open('/start');
    await page.getByRole('button', { name: 'Notifications: 2 new' }).click();
    await alert.getByRole('link', { name: 'Show' }).click();
    await page.waitForURL('**/alerts/budgets');
    assert.deepEqual(await inspectPage(page), []);
    await test.open('/alerts');
    await page.getByRole('article').first().waitFor();
    assert.deepEqual(await inspectPage(page), []);
    assert.deepEqual(test.errors, []);
  });
});
