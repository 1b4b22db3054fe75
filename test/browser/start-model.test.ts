/** The offer of a real model on the first page, while only the bundled model answers. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { CAT } from '../fixtures/cat-model.ts';
import { sendFile, useHub } from '../fixtures/hub-server.ts';
import { type ConsoleTest, inspectPage, SKIP_WITHOUT_CONSOLE, startConsole } from './console-page.ts';

interface Models {
  data: { id: string; backend: { engine: string; model: string } }[];
}

describe('the offer of a real model on the first page', { skip: SKIP_WITHOUT_CONSOLE }, () => {
  const hub = useHub();
  let test: ConsoleTest;
  let page: Page;
  /** Sends the second half of the file. */
  let finish = () => {};

  before(async () => {
    hub.acts.push((request, response) => {
      if (!request.url?.endsWith('.gguf')) return false;
      if (request.headers.range !== undefined) sendFile(request, response, CAT);
      else {
        response.writeHead(200, { etag: '"cat"', 'content-length': CAT.length });
        response.write(CAT.subarray(0, CAT.length / 2));
        finish = () => response.end(CAT.subarray(CAT.length / 2));
      }
      return true;
    });
    test = await startConsole({ env: { QUIRE_HUB_URL: hub.url } });
    page = test.page;
    await page.emulateMedia({ reducedMotion: 'reduce' });
  });
  after(() => test?.close());

  it('downloads it with progress, lets it answer, and is gone then', async () => {
    const backends = async () => {
      const { data } = await test.call<Models>('GET', '/v1/models');
      return data.filter(({ id }) => id === 'general-8b' || id === 'code-latest').map(({ backend }) => backend.engine);
    };
    assert.deepEqual(await backends(), ['bundled', 'bundled']);
    await test.open('/');
    assert.deepEqual(await inspectPage(page), []);
    await page.getByRole('button', { name: /^Download qwen2\.5-/ }).click();
    const bar = page.getByRole('progressbar', { name: /^qwen2\.5-/ });
    await page.waitForFunction(
      (element) => Number(element?.getAttribute('aria-valuenow')) > 20,
      await bar.elementHandle(),
    );
    assert.deepEqual(await inspectPage(page), []);
    finish();
    await page.getByText('Get a real model').waitFor({ state: 'detached', timeout: 60_000 });
    assert.deepEqual(await backends(), ['local', 'local']);
    assert.deepEqual(test.errors, []);
  });
});
