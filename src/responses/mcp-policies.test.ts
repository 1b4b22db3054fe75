import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { FORECAST, type McpServerDouble, startMcpServer, textResult } from '../../test/fixtures/mcp-server.ts';
import { chunks, useApi } from '../../test/harness.ts';
import { calls, chatPromptOf, playTurns, says } from '../../test/response-turns.ts';

const NO_SCORES = { harassment: 0, hate: 0, self_harm: 0, sexual: 0, violence: 0 };

describe('guardrail policies on MCP tools', () => {
  const api = useApi({
    config: { allowPrivateHosts: ['127.0.0.1'] },
    scoreTexts: async (texts) => texts.map(() => NO_SCORES),
  });
  let server: McpServerDouble;
  before(async () => {
    server = await startMcpServer();
    server.tools = [FORECAST];
  });
  after(() => server.close());
  beforeEach(() => {
    server.messages.length = 0;
  });
  /** A key of an organization with a policy on the word `falcon`. */
  const policyKey = async (action: 'block' | 'warn', applyTo: string[]) => {
    const { key } = await api.makeKey({ organization: `policy ${action} ${applyTo}` });
    const topics = [{ topic: 'falcon', action }];
    const body = { name: 'p', apply_to: applyTo, topic_deny_list: topics };
    const { status, text } = await api.send('POST', '/v1/guardrail-policies', { key, body });
    assert.equal(status, 200, text);
    return key;
  };
  const respond = async (key: string, city: string, result: string) => {
    server.call = () => textResult(result);
    playTurns(api.engine, calls(['weather__forecast', { city }]), says('Done.'));
    const tools = [{ type: 'mcp', server_label: 'weather', server_url: server.url, require_approval: 'never' }];
    // The output of a stream is not screened as a whole, but arguments leave the service.
    const body = { model: 'general-8b', input: 'Weather?', tools, stream: true };
    const { response } = chunks((await api.send('POST', '/v1/responses', { key, body })).text).at(-1);
    const made = response.output.find(({ type }: { type: string }) => type === 'mcp_call');
    return { response, made, read: chatPromptOf(api.engine.calls.at(-1)!).messages.at(-1)?.content ?? '' };
  };

  it('block arguments before they are sent to the server', async () => {
    const { made, response } = await respond(await policyKey('block', ['output']), 'Falcon', 'Sunny.');
    assert.equal(made.status, 'failed');
    assert.match(made.error.content, /content policy blocks its arguments/);
    assert.ok(!server.methods().includes('tools/call'));
    assert.deepEqual([response.status, response.moderation.action], ['completed', 'block']);
  });

  it('block results before the model reads them', async () => {
    const { made, read, response } = await respond(await policyKey('block', ['input']), 'Oslo', 'A falcon flies.');
    assert.deepEqual([made.status, made.output], ['failed', null]);
    assert.match(made.error.content, /content policy blocks the result/);
    assert.ok(!read.includes('falcon'));
    assert.equal(response.status, 'completed');
    assert.ok(!JSON.stringify(response).includes('falcon flies'));
  });

  it('flag results and arguments that they only warn of', async () => {
    const { made, response } = await respond(await policyKey('warn', ['both']), 'Oslo', 'A falcon flies.');
    assert.equal(made.output, 'A falcon flies.');
    assert.deepEqual([response.moderation.flagged, response.moderation.action], [true, 'warn']);
  });

  it('do not apply to other organizations', async () => {
    const { made } = await respond(api.key, 'Falcon', 'A falcon flies.');
    assert.equal(made.output, 'A falcon flies.');
  });
});
