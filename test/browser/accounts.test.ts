import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { OIDC_CLIENT, type OidcIssuer, startOidcIssuer } from '../oidc-issuer.ts';
import { accessibilityViolations, type ConsoleTest, SKIP_WITHOUT_CONSOLE, startConsole } from './console-page.ts';

describe('accounts in the console', { skip: SKIP_WITHOUT_CONSOLE }, () => {
  let test: ConsoleTest;
  let page: Page;
  let issuer: OidcIssuer;

  before(async () => {
    // Another site than the console's 127.0.0.1: browsers send no strict cookie with its redirects.
    issuer = await startOidcIssuer('localhost');
    const env = {
      QUIRE_OIDC_ISSUER: issuer.url,
      QUIRE_OIDC_CLIENT_ID: OIDC_CLIENT.id,
      QUIRE_OIDC_CLIENT_SECRET: OIDC_CLIENT.secret,
      QUIRE_OIDC_NAME: 'Acme ID',
      QUIRE_OIDC_DEFAULT_ROLE: 'viewer',
    };
    test = await startConsole({ env });
    page = test.page;
    // Contrast is measured in dialogs, which otherwise fade in.
    await page.emulateMedia({ reducedMotion: 'reduce' });
  });
  after(async () => {
    await test?.close();
    await issuer?.close();
  });

  it('a person signs in through the issuer and gets to the page of the link', async () => {
    const visitor = await test.newPage();
    issuer.person = { sub: 'vera', email: 'vera@example.com', email_verified: true, name: 'Vera' };
    await visitor.goto(`${test.service.url}/members?tab=1`);
    await visitor.getByRole('button', { name: 'Continue with Acme ID' }).click();
    await visitor.getByRole('heading', { level: 1, name: 'Members' }).waitFor();
    await visitor.getByRole('cell', { name: 'vera@example.com' }).waitFor();
    const [session] = (await visitor.context().cookies()).filter(({ name }) => name === 'quire_session');
    assert.deepEqual([session?.sameSite, session?.httpOnly], ['Strict', true]);
    await visitor.context().close();
  });

  it('a failed sign-in says why on the sign-in page', async () => {
    const visitor = await test.newPage();
    issuer.person = { sub: 'mallory', email: 'mallory@example.com', email_verified: false };
    await test.open('/sign-in', visitor);
    await visitor.getByRole('button', { name: 'Continue with Acme ID' }).click();
    await visitor.getByText('has not verified your email address').waitFor();
    await visitor.getByText(/^req_/).waitFor();
    assert.deepEqual(await accessibilityViolations(visitor), []);
    await visitor.context().close();
  });

  it('a user with a password connects the account in the settings', async () => {
    issuer.person = { sub: 'ada', email: 'ada@example.com', email_verified: true };
    await test.open('/settings');
    await page.getByRole('button', { name: 'Connect' }).click();
    await page.getByText('Your account is connected').waitFor();
  });

  it('an owner changes a role, and creates a link with which a member sets a new password', async () => {
    await test.open('/members');
    await page.getByRole('combobox', { name: 'Role: Vera' }).click();
    await page.getByRole('option', { name: 'Developer' }).click();
    await page.locator('input[value=Developer]').waitFor();
    await page.getByRole('button', { name: 'Reset password: Reset password: Vera' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Reset password' }).click();
    const link = (await page.getByText(/\/reset#/).textContent()) ?? '';
    assert.deepEqual(await accessibilityViolations(page), []);
    await page.getByRole('button', { name: 'Close' }).last().click();
    assert.ok(!(await page.content()).includes(link));
    const visitor = await test.newPage();
    await visitor.goto(link);
    await visitor.getByLabel('New password').fill('a new password');
    assert.ok(!visitor.url().includes('#'));
    assert.deepEqual(await accessibilityViolations(visitor), []);
    await visitor.getByRole('button', { name: 'Set password' }).click();
    await visitor.getByRole('heading', { level: 1, name: 'Start' }).waitFor();
    await visitor.context().close();
  });

  it('the last owner stays, and the page says why', async () => {
    await test.open('/members');
    await page.getByRole('combobox', { name: 'Role: ada@example.com' }).click();
    await page.getByRole('option', { name: 'Viewer' }).click();
    await page.getByRole('alert').getByText('without an owner').waitFor();
    await page.locator('input[value=Owner]').waitFor();
  });

  it('the command of the operator prints a link that sets a password', async () => {
    const { stdout } = await test.service.quire('users', 'reset-password', 'ada@example.com');
    const link = /http\S+\/reset#\S+/.exec(stdout)?.[0] ?? '';
    await page.goto(link);
    await page.getByLabel('New password').fill('another new password');
    await page.getByRole('button', { name: 'Set password' }).click();
    await page.getByRole('heading', { level: 1, name: 'Start' }).waitFor();
    const { stdout: users } = await test.service.quire('users', 'list');
    assert.match(users, /ada@example\.com +ada@example\.com +operator/);
  });

  it('the audit log names the actors, and is filtered by its address', async () => {
    await test.open('/audit?action=user.password_reset_created');
    await page.getByRole('button', { name: 'cli' }).waitFor();
    await page.getByRole('cell').getByRole('button', { name: 'ada@example.com' }).first().click();
    await page.waitForURL(/actor=user_/);
    await page.getByRole('button', { name: 'cli' }).waitFor({ state: 'detached' });
    assert.deepEqual(await accessibilityViolations(page), []);
    await page.getByRole('button', { name: 'Clear the filter' }).click();
    await page.getByText('role: viewer → developer').first().waitFor();
    await page.getByLabel('To', { exact: true }).fill('2020-01-01');
    await page.getByText('No event matches the filter.').waitFor();
  });

  it('an operator creates, renames and deletes an organization, and changes its credits', async () => {
    await test.open('/organizations');
    await page.getByRole('button', { name: 'Create organization' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('acme');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: 'Rename: acme' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('acme two');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: 'Credits: acme two' }).click();
    for (const [label, amount] of [
      ['New balance', '100'],
      ['Amount', '-0.5'],
    ] as const) {
      await page.getByRole('button', { name: 'Change credits' }).click();
      await page.getByRole('textbox', { name: label }).fill(amount);
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByRole('textbox', { name: label }).waitFor({ state: 'detached' });
    }
    await page.getByRole('dialog').getByText('$99.50').waitFor();
    await page.getByRole('dialog').getByRole('cell', { name: '-$0.50' }).waitFor();
    assert.deepEqual(await accessibilityViolations(page), []);
    await page.keyboard.press('Escape');
    await test.open('/organizations?q=ACME');
    assert.equal(await page.getByRole('button', { name: 'Rename: default' }).count(), 0);
    await page.getByRole('button', { name: 'Delete: acme two' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('None').waitFor();
    await test.open('/audit?action=organization.created');
    const row = page.getByRole('row').filter({ hasText: 'name: acme' });
    assert.doesNotMatch((await row.textContent()) ?? '', /limits/, 'fields without a value are left out');
  });

  it('throws no error', () => assert.deepEqual(test.errors, []));
});
