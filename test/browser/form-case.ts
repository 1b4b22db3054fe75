import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';
import { until } from '../deadline.ts';
import { accessibilityViolations, chooseAction } from './console-page.ts';

/** Label and text of each field to fill. */
type Entries = Readonly<Record<string, string>>;

/** How a form rejects entries and takes corrected ones. */
export interface FormCase {
  /** Opens the page with the form or the button that opens it. */
  path: string;
  /** Names of the buttons that open the form; none: the form is on the page. */
  open?: readonly (string | RegExp)[];
  /** Chooses the kind of form after it opened. */
  prepare?: (scope: Locator) => Promise<void>;
  submit: string;
  /** Method and path of the request. */
  request: RegExp;
  /** Entries that the browser rejects: the field with its message. Absent: the form accepts all entries. */
  invalid?: { entries?: Entries; field: string; message: string };
  /** Entries that the API rejects. Without `field` the message is in the form only. */
  rejected: { entries: Entries; field?: string; message: RegExp };
  /** The error of the API, where a form of the console cannot cause it. */
  stub?: { param: string; message: string };
  corrected: Entries;
  /** The response to corrected entries that would need another service. */
  response?: object;
  /** Resolves when the page shows the result. Default: the form closes. */
  done?: (page: Page) => Promise<unknown>;
}

/** Goes through a form: empty, rejected, corrected with a double click. A dialog is cancelled before. */
export async function checkForm(page: Page, form: FormCase): Promise<void> {
  const sent: string[] = [];
  page.on('request', (request) => {
    const line = `${request.method()} ${new URL(request.url()).pathname}`;
    if (form.request.test(line)) sent.push(line);
  });
  const scope = await openForm(page, form);
  const submit = scope.getByRole('button', { name: form.submit, exact: true });
  if (form.invalid !== undefined) {
    await enter(scope, form.invalid.entries ?? {});
    await submit.click();
    await showsError(page, findField(scope, form.invalid.field), form.invalid.message);
    assert.deepEqual(sent, [], 'nothing is sent');
  }
  await enter(scope, form.rejected.entries);
  if (form.stub !== undefined) await stubResponse(page, form.request, 400, { error: envelope(form.stub) });
  await submit.click();
  await scope.getByRole('alert').getByText(form.rejected.message).waitFor();
  await scope.getByRole('alert').getByText(/req_/).waitFor({ state: 'attached' });
  if (form.rejected.field !== undefined) {
    await showsError(page, findField(scope, form.rejected.field), form.rejected.message);
  }
  for (const [label, value] of Object.entries(form.rejected.entries)) await keeps(scope, label, value);
  assert.deepEqual(await accessibilityViolations(page), []);
  await page.unrouteAll();
  await enter(scope, form.corrected);
  if (form.response !== undefined) await stubResponse(page, form.request, 200, form.response);
  // Both clicks come before the next render, which disables the button.
  await submit.evaluate((button: { click(): void }) => {
    button.click();
    button.click();
  });
  await (form.done ?? (() => scope.waitFor({ state: 'detached' })))(page);
  await page.unrouteAll();
  await until(() => sent.length >= 2);
  assert.equal(sent.length, 2, `one rejected and one accepted request: ${sent}`);
  page.removeAllListeners('request');
}

/** Opens the form; a dialog is filled, cancelled by Escape and opened again before. */
async function openForm(page: Page, form: FormCase): Promise<Locator> {
  if (form.path !== '') await page.goto(new URL(form.path, page.url()).href);
  const buttons = form.open ?? [];
  if (buttons.length === 0) return page.locator('main');
  for (const name of buttons) await press(page, name);
  const scope = page.getByRole('dialog').last();
  const dialogs = await page.getByRole('dialog').count();
  await form.prepare?.(scope);
  const before: Record<string, string> = {};
  for (const label of Object.keys(form.corrected)) before[label] = await findField(scope, label).inputValue();
  await enter(scope, form.corrected);
  // In a field with suggestions, Escape closes the suggestions first.
  await scope.getByRole('button', { name: form.submit, exact: true }).focus();
  await page.keyboard.press('Escape');
  await page
    .getByRole('dialog')
    .nth(dialogs - 1)
    .waitFor({ state: 'detached' });
  await press(page, buttons.at(-1)!);
  await form.prepare?.(scope);
  for (const [label, value] of Object.entries(before)) {
    await findField(scope, label).waitFor();
    assert.equal(await findField(scope, label).inputValue(), value, `${label} was discarded`);
  }
  return scope;
}

/** Presses a button, or chooses an action of a row ("Rename: Dock"). */
async function press(page: Page, name: string | RegExp): Promise<void> {
  if (typeof name === 'string' && name.includes(':')) await chooseAction(page, name);
  else await page.getByRole('button', { name }).first().click();
}

/** A field by its whole label. */
function findField(scope: Locator, label: string): Locator {
  return scope.getByLabel(new RegExp(`^${label.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}( \\*)?$`)).first();
}

/** Replaces the text of fields. */
async function enter(scope: Locator, entries: Entries): Promise<void> {
  for (const [label, value] of Object.entries(entries)) {
    const field = findField(scope, label);
    await field.waitFor();
    // A list of words: the last one is removed by Backspace.
    for (let words = await pills(scope, label).count(); words > 0; words--) {
      await field.press('Backspace');
      await pills(scope, label)
        .nth(words - 1)
        .waitFor({ state: 'detached' });
    }
    await field.fill(value);
  }
}

const pills = (scope: Locator, label: string): Locator =>
  scope.locator('.mantine-TagsInput-root', { has: scope.page().getByLabel(label) }).locator('.mantine-TagsInput-pill');

/** Waits until the field has the focus, is invalid, and is described by the message. */
async function showsError(page: Page, field: Locator, message: string | RegExp): Promise<void> {
  await field.and(page.locator('[aria-invalid=true]:focus')).waitFor();
  const ids = ((await field.getAttribute('aria-describedby')) ?? '').split(' ').filter((id) => id !== '');
  const texts = await Promise.all(ids.map((id) => page.locator(`[id="${id}"]`).textContent()));
  const isShown = texts.some((text) => (typeof message === 'string' ? text === message : message.test(text ?? '')));
  assert.ok(isShown, `${message} in ${JSON.stringify(texts)}`);
}

/** Checks that a field has its text, or a list its word. */
async function keeps(scope: Locator, label: string, value: string): Promise<void> {
  const words = await pills(scope, label).allTextContents();
  assert.equal(words[0] ?? (await findField(scope, label).inputValue()), value, `${label} is kept`);
}

const envelope = ({ param, message }: { param: string; message: string }) => ({
  type: 'invalid_request_error',
  code: 'invalid_value',
  param,
  message,
});

async function stubResponse(page: Page, request: RegExp, status: number, json: object): Promise<void> {
  await page.route('**/v1/**', (route) => {
    const line = `${route.request().method()} ${new URL(route.request().url()).pathname}`;
    const headers = { 'x-request-id': 'req_of_the_stub' };
    return request.test(line) ? route.fulfill({ status, json, headers }) : route.fallback();
  });
}
