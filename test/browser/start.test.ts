/** The first page: steps that are ticked off as the service sees them done, and code with the ids of the person. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { type ConsoleTest, inspectPage, SKIP_WITHOUT_CONSOLE, startConsole } from './console-page.ts';

const LANGUAGES = ['curl', 'JavaScript', 'Python'];

describe('the first page', { skip: SKIP_WITHOUT_CONSOLE }, () => {
  let test: ConsoleTest;
  let page: Page;
  before(async () => {
    test = await startConsole();
    page = test.page;
    await page.emulateMedia({ reducedMotion: 'reduce' });
  });
  after(async () => {
    await test?.close();
    assert.deepEqual(test.errors, []);
  });

  const done = (opened = page) => opened.locator('main').getByText('Done', { exact: true });
  const sample = () => page.locator('main pre').last();
  /** The code in every language. */
  const samples = async () => {
    const texts: string[] = [];
    for (const language of LANGUAGES) {
      await page.locator('main').getByText(language, { exact: true }).click();
      texts.push((await sample().textContent()) ?? '');
    }
    return texts;
  };
  const ask = (key: string, body: object) =>
    fetch(`${test.service.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });

  it('ticks nothing off at first, and shows code without knowledge base and key', async () => {
    await test.open('/start');
    assert.equal(await done().count(), 0);
    for (const text of await samples()) {
      assert.match(text, /general-8b/);
      assert.match(text, /QUIRE_API_KEY/);
      assert.doesNotMatch(text, /kb_/);
    }
  });

  it('ticks off documents and an answer while it is open, and names the knowledge base in the code', async () => {
    const { id } = await test.call<{ id: string }>('POST', '/v1/knowledge-bases', { name: 'Harbour "A"' });
    await page.getByRole('link', { name: 'Open “Harbour "A"”' }).waitFor();
    assert.equal(await done().count(), 0, 'a knowledge base without documents is not enough');
    const text = 'A berth costs 24 euros.';
    await test.call('POST', `/v1/knowledge-bases/${id}/documents`, { key: 'fees', text });
    await page.getByText('Documents in “Harbour "A"”: 1.').waitFor({ timeout: 60_000 });
    assert.equal(await done().count(), 1);
    // A rejected request is no answer.
    await page.evaluate(() => fetch('/v1/chat/completions', { method: 'POST', body: '{}' }));
    const question = { model: 'general-8b', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 8 };
    await test.call('POST', '/v1/chat/completions', question);
    await page.getByText('You have had an answer.').waitFor();
    for (const code of await samples()) assert.ok(code.includes(id));
    assert.deepEqual(await inspectPage(page), []);
  });

  it('shows a new key once in the code, which works as it is, and forgets it', async () => {
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('first');
    await page.getByRole('dialog').getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByText('Your new key').waitFor();
    const secret = (await page.getByText(/^quire-sk-/).textContent()) ?? '';
    for (const code of await samples()) {
      assert.ok(code.includes(secret));
      assert.doesNotMatch(code, /QUIRE_API_KEY/);
    }
    assert.deepEqual(await inspectPage(page), []);
    await page.locator('main').getByText('curl', { exact: true }).click();
    const body = /-d '([\s\S]*)'$/.exec((await sample().textContent()) ?? '')?.[1] ?? '';
    const answer = await ask(secret, JSON.parse(body));
    assert.equal(answer.status, 200);
    assert.match(await answer.text(), /\[DONE\]/);
    await page.getByText('An API key has been used.').waitFor();
    assert.equal(await done().count(), 3);
    await test.open('/start');
    assert.ok(!(await page.content()).includes(secret));
  });

  it('counts answers of the person only, and asks people without the right to make keys to ask an owner', async () => {
    const developer = await test.invite('developer', 'dora@example.com');
    await test.open('/start', developer);
    await developer.getByText('Documents in “Harbour "A"”: 1.').waitFor();
    assert.equal(await done(developer).count(), 1);
    await developer.getByText('Ask an owner for an API key', { exact: false }).waitFor();
    assert.equal(await developer.getByRole('button', { name: 'Create a key' }).count(), 0);
    await test.call('PUT', '/v1/key-policy', { enabled: true, max_keys: 1, max_lifetime_seconds: null });
    await test.open('/start', developer);
    await developer.getByRole('button', { name: 'Create a key' }).click();
    await developer.getByRole('dialog').getByLabel('Name').fill('own');
    await developer.getByRole('dialog').getByRole('button', { name: 'Create', exact: true }).click();
    await developer.getByText(/^quire-sk-/).waitFor();
    await developer.context().close();
  });
});
