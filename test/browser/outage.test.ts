/** The console while its service does not answer. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { type Service, startService } from '../spawned-service.ts';
import { accessibilityViolations, type ConsoleTest, SKIP_WITHOUT_CONSOLE, startConsole } from './console-page.ts';

describe('the console during an outage', { skip: SKIP_WITHOUT_CONSOLE }, () => {
  let test: ConsoleTest;
  let page: Page;
  let restarted: Service | undefined;
  before(async () => {
    test = await startConsole();
    page = test.page;
    await page.emulateMedia({ reducedMotion: 'reduce' });
  });
  after(async () => {
    await test?.close();
    await restarted?.kill();
  });

  it('says so on a page that was not visited before, and opens it when the service answers again', async () => {
    await test.open('/');
    await test.service.kill();
    await page.getByRole('link', { name: 'Guardrails', exact: true }).click();
    const alert = page.getByRole('alert').filter({ hasText: 'This page opens as soon as the service answers.' });
    await alert.waitFor();
    // The colour of a link under the pointer fades in.
    await page.mouse.move(700, 600);
    assert.deepEqual(await accessibilityViolations(page), []);
    const { url, dataDir } = test.service;
    restarted = await startService({ dataDir, env: { QUIRE_PORT: new URL(url).port } });
    await page.getByRole('heading', { level: 1, name: 'Guardrails' }).waitFor();
    assert.equal(page.url(), `${url}/guardrails`);
    assert.deepEqual(test.errors, []);
  });
});
