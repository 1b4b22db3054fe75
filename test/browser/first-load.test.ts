import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MAIN_PAGES } from '../../bench/console/main-pages.ts';
import { SKIP_WITHOUT_CONSOLE, startConsole } from './console-page.ts';
import { countTransfers } from './count-transfers.ts';

/** Bytes that a main page may transfer without a browser cache: compressed, with headers, fonts and API responses. */
const MAX_BYTES = 200_000;

describe('the first load of the console', { skip: SKIP_WITHOUT_CONSOLE }, () => {
  it('transfers at most 200 kB on each main page, and one font', async () => {
    const test = await startConsole();
    try {
      const cookies = await test.page.context().cookies();
      const loads = new Map<string, number>();
      for (const path of MAIN_PAGES) {
        const page = await test.newPage();
        if (path !== '/sign-in') await page.context().addCookies(cookies);
        const fonts: string[] = [];
        page.on('request', (request) => request.resourceType() === 'font' && fonts.push(request.url()));
        const transfers = await countTransfers(page);
        await test.open(path, page);
        loads.set(path, transfers.allBytes);
        assert.equal(fonts.length, 1, `${path}: ${fonts.join(' ')}`);
        await page.context().close();
      }
      const above = [...loads].filter(([, bytes]) => bytes > MAX_BYTES);
      assert.deepEqual(above, []);
    } finally {
      await test.close();
    }
  });
});
