import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { OIDC_CLIENT, type OidcIssuer, startOidcIssuer } from '../oidc-issuer.ts';
import {
  accessibilityViolations,
  type ConsoleTest,
  chooseAction,
  PASSWORD,
  SKIP_WITHOUT_CONSOLE,
  startConsole,
  waitForValue,
} from './console-page.ts';

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
    await visitor.getByRole('heading', { level: 1, name: 'People' }).waitFor();
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
    await visitor.getByText(/^req_/).waitFor({ state: 'attached' });
    assert.deepEqual(await accessibilityViolations(visitor), []);
    await visitor.context().close();
  });

  it('a user with a password connects the account in the settings, and removes it', async () => {
    issuer.person = { sub: "ada's account", email: 'ada@example.com', email_verified: true };
    const connect = async (password: string) => {
      await page.getByRole('button', { name: 'Connect' }).last().click();
      await page.getByRole('dialog').getByLabel('Current password').fill(password);
      await page.getByRole('dialog').getByRole('button', { name: 'Connect' }).click();
    };
    await test.open('/settings');
    await connect('a wrong password');
    await page.getByRole('dialog').getByText("'password' is wrong.").first().waitFor();
    assert.deepEqual(await accessibilityViolations(page), []);
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    await connect(PASSWORD);
    await page.getByText('Your account is connected').waitFor();
    const identity = page.getByRole('row').filter({ hasText: "ada's account" });
    await chooseAction(identity, /^Remove/);
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await page.getByText('Connect your account to sign in with Acme ID').waitFor();
    await connect(PASSWORD);
    await page.getByText('Your account is connected').waitFor();
    assert.deepEqual(await accessibilityViolations(page), []);
  });

  it('a user sees the own sessions and ends the others, in German', async () => {
    const email = 'joerg@example.com';
    const open = async () => {
      const visitor = await test.newPage({ locale: 'de-DE' });
      await visitor.goto(`${test.service.url}/sign-in?from=/settings`);
      await visitor.getByLabel('E-Mail').fill(email);
      await visitor.getByLabel('Passwort').fill(PASSWORD);
      await visitor.getByRole('button', { name: 'Anmelden' }).click();
      await visitor.getByRole('heading', { level: 1, name: 'Einstellungen' }).waitFor();
      return visitor;
    };
    const first = await test.invite('viewer', email);
    const [second, third] = [await open(), await open()];
    const rows = third.getByRole('table', { name: 'Sitzungen' }).getByRole('row');
    await rows.nth(3).waitFor();
    assert.equal(await rows.filter({ hasText: 'Chrome · Linux' }).count(), 3);
    assert.equal(await rows.filter({ hasText: 'dieser Browser' }).getByRole('button').count(), 0);
    assert.deepEqual(await accessibilityViolations(third), []);
    await chooseAction(rows.nth(2), /^Abmelden/);
    await third.getByRole('dialog').getByRole('button', { name: 'Abmelden' }).click();
    await rows.nth(3).waitFor({ state: 'detached' });
    await second.reload();
    await second.getByRole('heading', { level: 1, name: 'Anmelden' }).waitFor();
    const others = 'Alle anderen Sitzungen abmelden';
    await third.getByRole('button', { name: others }).click();
    await third.getByRole('dialog').getByRole('button', { name: others }).click();
    await rows.nth(2).waitFor({ state: 'detached' });
    await first.reload();
    await first.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
    await third.reload();
    await rows.nth(1).waitFor();
    for (const visitor of [first, second, third]) await visitor.context().close();
  });

  it('a password change asks whether connected accounts stay', async () => {
    const change = async (from: string, to: string) => {
      await page.getByLabel('Current password').fill(from);
      await page.getByLabel('New password').fill(to);
      await page.getByRole('button', { name: 'Change password' }).click();
      await page.getByText('The password was changed').waitFor();
    };
    await test.open('/settings');
    await change(PASSWORD, 'a second password');
    await page.getByRole('row').filter({ hasText: "ada's account" }).waitFor();
    await page.getByLabel('Remove all connected accounts').check();
    await change('a second password', PASSWORD);
    await page.getByText('Connect your account to sign in with Acme ID').waitFor();
    assert.equal(await page.getByLabel('Remove all connected accounts').count(), 0);
  });

  it('an owner changes a role, and creates a link with which a member sets a new password', async () => {
    await test.open('/members');
    await page.getByRole('combobox', { name: 'Role: Vera' }).click();
    await page.getByRole('option', { name: 'Developer' }).click();
    await waitForValue(page.getByRole('combobox', { name: 'Role: Vera' }), 'Developer');
    await chooseAction(page, 'Reset password: Vera');
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
    await visitor.getByRole('heading', { level: 1, name: 'New chat' }).waitFor();
    await visitor.context().close();
  });

  it('the last owner stays, and the page says why', async () => {
    await test.open('/members');
    await page.getByRole('combobox', { name: 'Role: ada@example.com' }).click();
    await page.getByRole('option', { name: 'Viewer' }).click();
    await page.getByRole('alert').getByText('without an owner').waitFor();
    await waitForValue(page.getByRole('combobox', { name: 'Role: ada@example.com' }), 'Owner');
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
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await chooseAction(page, 'Rename: acme');
    await page.getByRole('textbox', { name: 'Name' }).fill('acme two');
    await page.getByRole('button', { name: 'Save' }).click();
    await chooseAction(page, 'Credits: acme two');
    for (const [label, amount] of [
      ['New balance', '100'],
      ['Amount', '-0.5'],
    ] as const) {
      await page.getByRole('button', { name: 'Change credits' }).click();
      await page.getByRole('spinbutton', { name: label }).fill(amount);
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByRole('spinbutton', { name: label }).waitFor({ state: 'detached' });
    }
    await page.getByRole('dialog').getByText('$99.50').waitFor();
    await page.getByRole('dialog').getByRole('cell', { name: '-$0.50' }).waitFor();
    assert.deepEqual(await accessibilityViolations(page), []);
    await page.keyboard.press('Escape');
    await test.open('/organizations?q=ACME');
    assert.equal(await page.getByLabel('Rename: default').count(), 0);
    await chooseAction(page, 'Delete: acme two');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('None').waitFor();
    await test.open('/audit?action=organization.created');
    const row = page.getByRole('row').filter({ hasText: 'name: acme' });
    assert.doesNotMatch((await row.textContent()) ?? '', /limits/, 'fields without a value are left out');
  });

  it('throws no error', () => assert.deepEqual(test.errors, []));
});
