import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import type { Page, Route } from 'playwright-core';
import {
  accessibilityViolations,
  type ConsoleTest,
  inspectPage,
  SKIP_WITHOUT_CONSOLE,
  startConsole,
} from './console-page.ts';

/** Pages that send no requests of their own. */
const STATIC = new Set(['/start', '/settings']);
/** The playground can be used while it loads its lists of models and knowledge bases. */
const PLAYGROUND = '/playground';
/** Requests of the layout around every page. */
const FRAME = /\/v1\/(session(\/provider)?|alerts\?status=open.*)$/;
const MESSAGE = 'The scripted request failed.';

describe('the states of every page', { skip: SKIP_WITHOUT_CONSOLE }, () => {
  let test: ConsoleTest;
  let page: Page;
  /** Paths in the navigation of an operator. */
  let paths: string[];
  /** Paths of pages with one resource, which exists. */
  let detailPaths: string[];

  before(async () => {
    test = await startConsole();
    page = test.page;
    page.setDefaultTimeout(15_000);
    await page.emulateMedia({ reducedMotion: 'reduce' });
    const created = (path: string, body: object) => test.call<{ id: string }>('POST', path, body);
    const base = await created('/v1/knowledge-bases', { name: 'Empty base' });
    const key = await created('/v1/admin/keys', { name: 'Unused key' });
    paths = await linkedPaths(page);
    detailPaths = [`/knowledge-bases/${base.id}`, `/keys/${key.id}`];
  });
  afterEach(() => page.unrouteAll());
  after(() => test?.close());

  const heading = (path: string) =>
    page
      .getByRole('heading', { level: 1 })
      .waitFor()
      .catch(() => assert.fail(`${path} has no heading`));
  const linkedPaths = async (opened: Page): Promise<string[]> => {
    const links = await opened.getByRole('navigation', { name: 'Quire' }).getByRole('link').all();
    const hrefs = await Promise.all(links.map((link) => link.getAttribute('href')));
    await test.open('/settings', opened);
    const tabs = await opened.locator('.page-tabs a').all();
    hrefs.push(...(await Promise.all(tabs.map((tab) => tab.getAttribute('href')))));
    return [...new Set(hrefs)].filter((href): href is string => href !== null && !href.startsWith('/docs'));
  };
  const fetchingPaths = () => [...paths.filter((path) => !STATIC.has(path)), ...detailPaths];

  /** Intercepts the requests of the page, except those of its frame, until the returned function is called. */
  const intercept = async (handle: (route: Route) => Promise<void>) => {
    const matches = (url: URL) => url.pathname.startsWith('/v1/') && !FRAME.test(url.pathname + url.search);
    await page.route(matches, handle);
    return () => page.unroute(matches, handle);
  };

  it('loading: the page has its heading and says that it loads', async () => {
    const defects: string[] = [];
    for (const path of fetchingPaths()) {
      const gate = Promise.withResolvers<void>();
      const release = await intercept((route) => gate.promise.then(() => route.continue()));
      await page.goto(test.service.url + path);
      await heading(path);
      if (path !== PLAYGROUND) await page.getByRole('status', { name: 'Loading' }).first().waitFor();
      defects.push(...(await inspectPage(page)).map((defect) => `${path} ${defect}`));
      gate.resolve();
      await page.getByRole('status', { name: 'Loading' }).first().waitFor({ state: 'detached' });
      await page.waitForLoadState('networkidle');
      await release();
    }
    assert.deepEqual(defects, []);
  });

  it('error: the page shows the message and the request id, and the content after a retry', async () => {
    const defects: string[] = [];
    for (const path of fetchingPaths()) {
      const release = await intercept((route) => {
        const error = { message: MESSAGE, type: 'invalid_request_error', param: null, code: 'scripted' };
        return route.fulfill({ status: 400, json: { error }, headers: { 'x-request-id': 'req_scripted' } });
      });
      await page.goto(test.service.url + path);
      const alert = page.getByRole('alert').filter({ hasText: MESSAGE });
      await alert
        .first()
        .waitFor()
        .catch(() => assert.fail(`${path} shows no error`));
      await heading(path);
      assert.match((await alert.first().textContent()) ?? '', /req_scripted/, path);
      const shown = await alert.count();
      defects.push(...(await inspectPage(page)).map((defect) => `${path} ${defect}`));
      // The inspection resizes the page, and parameters of the playground that are shown again request again.
      await alert.nth(shown - 1).waitFor();
      await release();
      for (let left = shown; left > 0; left -= 1) {
        // Errors of one query disappear together.
        const gone = alert.nth(left - 1).waitFor({ state: 'detached' });
        const retry = alert.first().getByRole('button', { name: 'Try again' });
        await Promise.race([gone, retry.click().catch(() => {})]);
        await gone.catch(() => assert.fail(`${path} offers no retry`));
      }
      // The button of the next page is not hovered over.
      await page.mouse.move(0, 0);
      await page.waitForLoadState('networkidle');
      assert.equal(await page.getByRole('alert').count(), 0, path);
    }
    assert.deepEqual(defects, []);
  });

  it('error: a page that refreshes itself keeps its error until the retry', async () => {
    const polling = await page.context().newPage();
    await polling.clock.install();
    let requests = 0;
    await polling.route('**/v1/admin/cache/stats', (route) => {
      requests += 1;
      return route.fulfill({ status: 400, json: { error: { message: MESSAGE, type: 'x', param: null, code: null } } });
    });
    await polling.goto(`${test.service.url}/cache`);
    await polling.getByRole('alert').filter({ hasText: MESSAGE }).waitFor();
    await polling.clock.runFor(20_000);
    assert.equal(requests, 1);
    await polling.close();
  });

  it('empty: every page of a new organization', async () => {
    const defects: string[] = [];
    const { id } = await test.call<{ id: string }>('POST', '/v1/admin/organizations', { name: 'New' });
    await test.call('PATCH', '/v1/session', { organization_id: id });
    for (const path of paths) {
      await test.open(path);
      assert.equal(await page.getByRole('status', { name: 'Loading' }).count(), 0, path);
      defects.push(...(await inspectPage(page)).map((defect) => `${path} ${defect}`));
    }
    assert.deepEqual(defects, []);
  });

  it('permission: pages that a viewer may not see say so, and the others offer no change', async () => {
    const defects: string[] = [];
    const viewer = await test.invite('viewer', 'vera@example.com', { reducedMotion: 'reduce' });
    const permitted = await linkedPaths(viewer);
    assert.ok(permitted.length < paths.length);
    for (const to of paths) {
      await test.open(to, viewer);
      const isDenied = !permitted.includes(to);
      assert.equal(await viewer.getByText('Your role may not see this page.').count(), isDenied ? 1 : 0, to);
      assert.equal(
        await viewer.getByRole('button', { name: /^(Create|Invite|Upload|Pull|Delete|Reset)/ }).count(),
        0,
        to,
      );
      defects.push(...(await accessibilityViolations(viewer)).map((defect) => `${to} ${defect}`));
    }
    assert.deepEqual(defects, []);
  });

  it('unknown: a path without a page has status 404, and says so with or without a session', async () => {
    for (const opened of [page, await test.newPage()]) {
      const response = await opened.goto(`${test.service.url}/nothing/here?a=b`);
      assert.equal(response?.status(), 404);
      await opened.getByRole('heading', { level: 1, name: 'This page does not exist.' }).waitFor();
      assert.deepEqual(await inspectPage(opened), []);
    }
  });

  it('causes no script error', () => assert.deepEqual(test.errors, []));
});
