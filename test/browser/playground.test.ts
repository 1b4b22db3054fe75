import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import type { TestServer } from '../fixtures/upstream-server.ts';
import { accessibilityViolations, type ConsoleTest, SKIP_WITHOUT_CONSOLE, startConsole } from './console-page.ts';
import { startPlaygroundUpstream } from './playground-upstream.ts';

const run = promisify(execFile);
const MANUAL = '# Harbour manual\n\nA berth for a boat of up to 10 metres costs 24 euros per night.\n';
/** A file name that a page must not run. */
const FILE = '<img src=x onerror=alert(1)>.md';

describe('the playground in Chromium', { skip: SKIP_WITHOUT_CONSOLE }, () => {
  let test: ConsoleTest;
  let upstream: TestServer;
  let page: Page;
  let kbId: string;

  before(async () => {
    upstream = await startPlaygroundUpstream();
    // `general-8b` is scripted, `bundled` is the real model.
    const config = `models:\n  general-8b:\n    engine: upstream\n    base_urls: ${upstream.baseUrl}\n  bundled:\n    engine: bundled\n`;
    test = await startConsole({ config });
    page = test.page;
    await page.emulateMedia({ reducedMotion: 'reduce' });
  });
  after(async () => {
    await test?.close();
    await upstream?.close();
  });

  const createKnowledgeBase = async () => {
    kbId = await test.createKnowledgeBase('Harbour', { name: FILE, text: MANUAL });
  };
  /** Waits until no request runs on the upstream: much shorter than its idle timeout. */
  const requestsEnd = async () => {
    for (let waits = 0; upstream.running() > 0; waits += 1) {
      assert.ok(waits < 1_000, 'the request still runs');
      await delay(10);
    }
  };
  /** Opens an empty playground. */
  const open = async (query = '') => test.open(`/playground${query}`);
  const send = async (text: string) => {
    await page.getByLabel('Ask something').fill(text);
    await page.keyboard.press('Enter');
  };
  const ask = async (text: string) => {
    await send(text);
    await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
  };
  const answer = () => page.locator('.playground-turns .markdown').last();
  const lastRequest = () => upstream.requests.findLast(({ method }) => method === 'POST')?.body ?? {};
  const violations = async (state: string): Promise<string[]> => {
    const found: string[] = [];
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await page.locator(`html[data-mantine-color-scheme=${colorScheme}]`).waitFor();
      // Colours in the middle of a transition have no meaning.
      await page.evaluate(
        'Promise.all(document.getAnimations().map((each) => each instanceof CSSTransition && each.finished.then(() => 0, () => 0)))',
      );
      found.push(...(await accessibilityViolations(page)).map((each) => `${state} ${colorScheme} ${each}`));
    }
    return found;
  };

  it('renders Markdown as elements, and neither HTML nor images nor links of other schemes', async () => {
    await open();
    await ask('show markdown');
    for (const element of ['h3', 'strong', 'em', 'table', 'ol > li', 'ul > li', 'blockquote', 'pre > code']) {
      assert.equal((await answer().locator(element).count()) > 0, true, element);
    }
    assert.equal(await answer().locator('img, script, a[href^=javascript]').count(), 0);
    const site = answer().getByRole('link', { name: 'site' });
    assert.match((await site.getAttribute('rel')) ?? '', /noopener/);
    assert.equal(await site.getAttribute('href'), 'https://example.com/fees');
    assert.deepEqual(await violations('answer'), []);
  });

  it('shows tokens, times, cost, finish reason, cache status and request id of an answer', async () => {
    const figures = await page.locator('dl.figures').last().textContent();
    assert.match(figures ?? '', /Finish\s*stop/);
    assert.match(figures ?? '', /100 prompt \(64 cached\) \+ \d+ completion/);
    assert.match(figures ?? '', /First token\s*\d+ ms/);
    assert.match(figures ?? '', /Total\s*[\d.]+ s/);
    assert.match(figures ?? '', /Tokens\/s\s*[\d.]+/);
    assert.match(figures ?? '', /Cost by list price\s*\$0\.0000\d/);
    assert.match(figures ?? '', /Prompt cache\s*(HIT|MISS)/);
    assert.match(figures ?? '', /Request id\s*req_/);
  });

  it('sends the parameters that are set and no others', async () => {
    await open();
    await ask('plain');
    assert.deepEqual(
      Object.keys(lastRequest()).filter((name) => /temp|top_p|seed|stop|max_/.test(name)),
      [],
    );
    await page.getByLabel('System prompt').fill('Be brief.');
    await page.getByLabel('Temperature').fill('0.5');
    await page.getByLabel('top_p').fill('0.9');
    await page.getByLabel('Maximum tokens').fill('50');
    await page.getByLabel('Seed').fill('7');
    // The field loads when it gets the focus, and takes it then.
    await page.getByRole('combobox', { name: 'Stop texts' }).click();
    await page.getByRole('combobox', { name: 'Stop texts' }).fill('END');
    await page.keyboard.press('Enter');
    await ask('with parameters');
    const { temperature, top_p, seed, stop, max_tokens, messages } = lastRequest();
    assert.deepEqual(
      { temperature, top_p, seed, max_tokens },
      { temperature: 0.5, top_p: 0.9, seed: 7, max_tokens: 50 },
    );
    assert.deepEqual([stop].flat(), ['END']);
    assert.deepEqual((messages as unknown[])[0], { role: 'system', content: 'Be brief.' });
  });

  it('checks the JSON of the tool editor, and Escape and then Tab leaves it', async () => {
    await open();
    await page.getByRole('button', { name: 'Edit: Tools' }).click();
    const editor = page.getByRole('textbox', { name: 'Tools' });
    await editor.click();
    await page.keyboard.type('[\n{"type" "function"}\n]');
    await page.getByText(/^Line 2: /).waitFor();
    const save = page.getByRole('dialog').getByRole('button', { name: 'Save' });
    assert.equal(await save.isDisabled(), true);
    assert.deepEqual(await violations('editor'), []);
    await page.keyboard.press('Escape');
    await page.keyboard.press('Tab');
    assert.notEqual(await page.evaluate("document.activeElement.getAttribute('aria-label')"), 'Tools');
    await page.keyboard.press('Enter');
    await page.getByText('get_weather').first().waitFor();
    await save.click();
    await page.getByText('Tools 1').waitFor();
  });

  it('shows a tool call as text, and continues with the result that the user gives', async () => {
    await ask('weather?');
    await page.getByText('"city": "<img src=x onerror=alert(1)>"').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Send', exact: true }).isDisabled(), true);
    await page.getByLabel('Result of get_weather').fill('21 degrees');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('The tool said: 21 degrees').waitFor();
    const messages = lastRequest()['messages'] as Record<string, unknown>[];
    assert.deepEqual(messages.at(-1), {
      role: 'tool',
      tool_call_id: messages.at(-1)?.['tool_call_id'],
      content: '21 degrees',
    });
    assert.deepEqual(await violations('tool call'), []);
  });

  it('shows log probabilities with their alternatives to mouse, keyboard and screen reader', async () => {
    await open();
    await page.getByRole('switch', { name: 'Log probabilities' }).check({ force: true });
    await ask('probable');
    const list = page.getByRole('listbox', { name: 'Log probabilities' });
    const fine = list.getByRole('option', { name: /fine 10%\. Alternatives: good 2%/ });
    assert.equal(await fine.getAttribute('data-level'), '0');
    await list.focus();
    await page.keyboard.press('End');
    assert.equal(await fine.getAttribute('aria-selected'), 'true');
    await page.getByText('" good"').waitFor();
    assert.deepEqual(await violations('log probabilities'), []);
  });

  it('shows reasoning apart from the answer', async () => {
    await open();
    await ask('think');
    assert.equal(await answer().textContent(), 'Done.');
    await page.getByText('Reasoning', { exact: true }).click();
    await page.getByText('I think first.').waitFor();
  });

  it('shows the message and the request id of an error, and retry asks again', async () => {
    await open();
    await ask('reject this');
    const alert = page.getByRole('alert');
    await alert.getByText('the model says no').waitFor();
    assert.match((await alert.textContent()) ?? '', /req_/);
    const before = upstream.requests.length;
    await page.getByRole('button', { name: 'Retry' }).click();
    await alert.waitFor();
    assert.ok(upstream.requests.length > before);
    assert.deepEqual(await violations('error'), []);
  });

  it('keeps the text of an answer that the upstream cuts off', async () => {
    await open();
    await ask('cut it');
    await page.getByRole('alert').waitFor();
    assert.equal(await answer().textContent(), 'Half an answer');
  });

  it('stop ends the request and keeps what has arrived; edit sends the message again', async () => {
    await open();
    await send('hang now');
    await page.getByText('Partial answer').waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await requestsEnd();
    await page.getByText('stopped').waitFor();
    assert.equal(await answer().textContent(), 'Partial answer');
    await page.getByRole('button', { name: 'Edit', exact: true }).first().click();
    await page.getByLabel('Your message').fill('better');
    await page.getByRole('button', { name: 'Send again' }).click();
    await page.getByText('You said: better').waitFor();
    assert.equal(await page.getByText('hang now').count(), 0);
    await page.getByRole('button', { name: 'New chat' }).click();
    assert.equal(await page.getByText('better').count(), 0);
  });

  it('leaving the page ends the running answer', async () => {
    await send('hang again');
    await page.getByText('Partial answer').waitFor();
    assert.ok(upstream.running() > 0);
    await page.getByRole('link', { name: 'Files' }).click();
    await page.getByRole('heading', { level: 1, name: 'Files' }).waitFor();
    await requestsEnd();
  });

  it('asks two models the same, each with its own figures', async () => {
    await open('?compare=bundled');
    await ask('hello both');
    assert.equal(await page.getByRole('log').count(), 2);
    assert.match(
      (await page.getByRole('log', { name: 'Conversation with general-8b' }).textContent()) ?? '',
      /You said: hello both/,
    );
    assert.match(
      (await page.getByRole('log', { name: 'Conversation with bundled' }).textContent()) ?? '',
      /hello both[\s\S]*Tokens/,
    );
    assert.equal(await page.locator('dl.figures').count(), 2);
    assert.deepEqual(await violations('side by side'), []);
  });

  it('cites the documents of a knowledge base, and opens the passage', async () => {
    await createKnowledgeBase();
    await open(`?model=bundled&kb=${kbId}`);
    await ask('What does a berth cost per night?');
    await page.getByText('Sources', { exact: true }).waitFor();
    await page.locator('mark.citation', { hasText: '24 euros' }).first().waitFor();
    assert.equal(await page.locator('main img[src=x]').count(), 0);
    assert.deepEqual(await violations('citations'), []);
    await page.locator('.markdown').getByRole('button', { name: '1', exact: true }).first().click();
    await page.locator('mark.passage', { hasText: '24 euros' }).waitFor();
    assert.deepEqual(await violations('passage'), []);
    const opened = page.context().waitForEvent('page');
    await page.getByRole('link', { name: 'Open the document in a new tab' }).click();
    const document = await opened;
    await document.locator('[aria-current=true]', { hasText: '24 euros' }).waitFor();
    assert.match(document.url(), /\?chunk=chunk_/);
    await document.close();
  });

  it('shows searches and function calls of the Responses API, and continues after a call', async () => {
    await open(`?mode=responses&kb=${kbId}`);
    await ask('search the manual');
    await page.getByText('berth price').waitFor();
    await page.getByText('Passages found: 1').click();
    await page.getByText('24 euros').first().waitFor();
    assert.match((await answer().textContent()) ?? '', /The tool said/);
    assert.match((await page.locator('dl.figures').last().textContent()) ?? '', /Finishcompleted/);
    assert.deepEqual(await violations('responses'), []);
    await page.getByRole('button', { name: 'Edit: Tools' }).click();
    await page.getByRole('button', { name: 'Insert an example' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await ask('weather?');
    await page.getByLabel('Result of get_weather').fill('rain');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('The tool said: rain').waitFor();
  });

  it('shows the request that was sent as code without a key, and the curl command works', async () => {
    await open();
    await ask(`it's "quoted"`);
    await page.getByRole('button', { name: 'Code' }).click();
    const code = page.getByRole('dialog').locator('pre');
    const curl = (await code.textContent()) ?? '';
    const { stdout } = await run('sh', ['-c', curl], { env: { ...process.env, QUIRE_API_KEY: test.service.key } });
    assert.match(stdout, /"content":"You said: it's \\"quoted\\""/);
    await page.getByText('JavaScript', { exact: true }).click();
    const script = (await code.textContent()) ?? '';
    const options = { env: { ...process.env, QUIRE_API_KEY: test.service.key } };
    const node = await run(process.execPath, ['--input-type=module', '-e', script], options);
    assert.equal(node.stdout, `You said: it's "quoted"`);
    await page.getByText('Python', { exact: true }).click();
    const python = (await code.textContent()) ?? '';
    assert.match(python, /stream=True,/);
    assert.match(python, /"content": "it's \\"quoted\\""/);
    assert.deepEqual(await violations('code'), []);
  });

  it('fits a phone, with the parameters behind a button', async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    await open();
    await ask('show markdown');
    await page.getByRole('button', { name: 'Parameters' }).click();
    await page.getByLabel('System prompt').waitFor();
    assert.equal(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), false);
    assert.deepEqual(await violations('phone'), []);
    await page.setViewportSize({ width: 1280, height: 900 });
  });

  it('follows the answer until the user scrolls up', async () => {
    await open();
    await ask('long answer');
    const view = page.getByRole('log');
    const isAtEnd = () =>
      view.evaluate((element) => element.scrollHeight - element.clientHeight - element.scrollTop < 2);
    assert.equal(await isAtEnd(), true);
    await send('long answer again');
    await page.getByText('line 300').last().waitFor();
    await view.hover();
    await page.mouse.wheel(0, -2000);
    await page.getByRole('button', { name: 'Jump to the end' }).waitFor();
    const top = await view.evaluate((element) => element.scrollTop);
    await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
    // The wheel may still be moving; the answer has grown by thousands of pixels.
    assert.ok(Math.abs((await view.evaluate((element) => element.scrollTop)) - top) < 100);
    assert.equal(await isAtEnd(), false);
    await page.getByRole('button', { name: 'Jump to the end' }).click();
    assert.equal(await isAtEnd(), true);
  });

  it('keeps texts out of the address and of the storage of the browser', async () => {
    const stored = String(
      await page.evaluate('JSON.stringify([location.href, { ...localStorage }, { ...sessionStorage }])'),
    );
    assert.ok(!/long answer|berth/.test(stored), stored);
    assert.deepEqual([...test.origins], [test.service.url]);
    assert.deepEqual(test.errors, []);
  });

  it('keeps the part of an answer that arrived before the connection broke, and says so', async () => {
    await open();
    await send('hang at last');
    await page.getByText('Partial answer').waitFor();
    await test.service.kill();
    await page.getByText('The connection broke.').waitFor();
    assert.equal(await answer().textContent(), 'Partial answer');
  });
});
