import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { sendEvents, startServer, type TestServer } from '../fixtures/upstream-server.ts';
import {
  accessibilityViolations,
  type ConsoleTest,
  inspectPage,
  SKIP_WITHOUT_CONSOLE,
  startConsole,
} from './console-page.ts';

describe('servers and keys in the console', { skip: SKIP_WITHOUT_CONSOLE }, () => {
  let test: ConsoleTest;
  let server: TestServer;
  before(async () => {
    const models = { data: [{ id: 'llama-3.3-70b', max_model_len: 32_768 }] };
    server = await startServer(({ body }, response) => {
      const content = body?.['response_format'] === undefined ? 'Hello from the server' : '{"k7":"qv-4417"}';
      sendEvents(response, [{ choices: [{ index: 0, delta: { content }, finish_reason: 'stop' }] }, '[DONE]']);
      response.end();
    }, models);
    test = await startConsole();
  });
  after(async () => {
    await test.close();
    await server.close();
    assert.deepEqual(test.errors, []);
  });

  it('an operator adds a server, tests it and binds a model id, which answers', async () => {
    const { page } = test;
    await test.open('/models?tab=servers');
    await page.getByRole('button', { name: 'Add server' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('GPU servers');
    await dialog.getByRole('combobox', { name: 'Base URLs' }).fill(server.baseUrl);
    await dialog.getByLabel('API key').fill('sk-secret');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.getByText('Models listed: 1').waitFor();
    await dialog.locator('input').first().fill('llama-3.3-70b');
    await dialog.getByRole('button', { name: 'Test' }).click();
    await dialog.getByText('Streaming: works').waitFor();
    await dialog.getByText('without the tool call').waitFor();
    assert.deepEqual(await accessibilityViolations(page), []);
    await dialog.getByRole('button', { name: 'Bind a model id' }).click();
    await dialog.getByLabel('Model id').fill('team/llama');
    await dialog.getByLabel('Price of 1M prompt tokens').fill('0.5');
    assert.deepEqual(await accessibilityViolations(page), []);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('cell', { name: 'team/llama' }).waitFor();
    const body = { model: 'team/llama', messages: [{ role: 'user', content: 'Hi' }] };
    const answer = await test.call<{ choices: { message: { content: string } }[] }>(
      'POST',
      '/v1/chat/completions',
      body,
    );
    assert.equal(answer.choices[0]?.message.content, 'Hello from the server');
    assert.ok(server.requests.every(({ headers }) => headers.authorization === 'Bearer sk-secret'));
  });

  it('an owner sets how long chats are kept and who writes their titles; others have no such form', async () => {
    const { page } = test;
    type Stored = { retention_days: number | null; model_titles: boolean };
    const stored = () => test.call<Stored>('GET', '/v1/chat-settings');
    await test.open('/settings');
    const days = page.getByLabel('Days after the last message');
    const submit = page.getByRole('button', { name: 'Change chat settings' });
    assert.equal(await days.inputValue(), '');
    await days.fill('30');
    await submit.click();
    await page.getByText('The settings were changed.').waitFor();
    assert.equal((await stored()).retention_days, 30);
    await page.reload();
    await page.getByRole('button', { name: 'Change chat settings' }).waitFor();
    assert.equal(await days.inputValue(), '30');
    assert.deepEqual(await inspectPage(page), []);
    await days.fill('');
    await page.getByRole('switch', { name: 'Models write the titles of chats' }).click();
    await submit.click();
    await page.getByText('The settings were changed.').waitFor();
    const { retention_days, model_titles } = await stored();
    assert.deepEqual([retention_days, model_titles], [null, false]);
    const developer = await test.invite('developer', 'dora@example.com');
    await test.open('/settings', developer);
    assert.equal(await developer.getByText('Chats of the organization').count(), 0);
    await developer.context().close();
  });

  it('an owner allows keys of their own, and a developer makes one', async () => {
    const { page } = test;
    await test.open('/keys');
    await page.getByRole('button', { name: 'Self-service' }).click();
    await page.getByRole('switch').check({ force: true });
    await page.getByLabel('Requests per minute').fill('60');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    const developer = await test.invite('developer', 'bob@example.com');
    await test.open('/keys', developer);
    await developer.getByRole('button', { name: 'Create key' }).first().click();
    const dialog = developer.getByRole('dialog');
    await dialog.getByLabel('Name').fill('Notebook');
    await dialog.getByRole('button', { name: 'Create', exact: true }).click();
    await developer.getByText('Your new key').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).last().click();
    await developer.getByRole('cell', { name: 'Notebook' }).waitFor();
    assert.deepEqual(await accessibilityViolations(developer), []);
    await test.open('/keys');
    await page.getByRole('cell', { name: 'bob@example.com' }).waitFor();
    await developer.context().close();
  });
});
