/** The built-in `file_search` of other SDKs. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createOpenAI } from '@ai-sdk/openai';
import { Agent, fileSearchTool, OpenAIResponsesModel, run, setTracingDisabled } from '@openai/agents';
import { generateText, isStepCount, streamText } from 'ai';
import OpenAI from 'openai';
import { LIBRARY, useTown } from '../town.ts';

Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });
setTracingDisabled(true);

describe('file_search', () => {
  const town = useTown();
  const { openai, play } = town;

  it('the built-in tool of the AI SDK, streamed and not', async () => {
    play();
    const provider = createOpenAI(openai());
    const tools = {
      file_search: provider.tools.fileSearch({
        vectorStoreIds: [town.base],
        maxNumResults: 3,
        ranking: { ranker: 'auto', scoreThreshold: 0.01 },
        filters: { type: 'gt', key: 'words', value: 1 },
      }),
    };
    const params = { model: provider.responses('general-8b'), prompt: 'When?', tools, stopWhen: isStepCount(3) };
    const whole = await generateText(params);
    assert.equal(whole.text, LIBRARY);
    const { output } = whole.steps[0]!.toolResults[0]!;
    assert.deepEqual((output as { queries: string[] }).queries, ['When does Ashford open?']);
    play();
    const streamed = streamText({ ...params, onError: ({ error }) => assert.fail(`${error}`) });
    assert.equal(await streamed.text, LIBRARY);
  });

  it('the built-in tool of the Agents SDK, streamed and not', async () => {
    play();
    const model = new OpenAIResponsesModel(new OpenAI(openai()), 'general-8b');
    const tools = [fileSearchTool(town.base, { maxNumResults: 3, includeSearchResults: true })];
    const agent = new Agent({ name: 'Guide', instructions: 'Answer.', model, tools });
    assert.equal((await run(agent, 'When?')).finalOutput, LIBRARY);
    play();
    const streamed = await run(agent, 'When?', { stream: true });
    await streamed.completed;
    assert.equal(streamed.finalOutput, LIBRARY);
  });
});
