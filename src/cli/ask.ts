import { text } from 'node:stream/consumers';
import { OperatorError } from '../lib/operator-error.ts';
import { openApiClient } from './api-client.ts';
import { agentRequest, askAgent } from './ask-agent.ts';
import { CliCommand } from './command.ts';
import { requireKnowledgeBase } from './knowledge-base.ts';
import { streamAnswer } from './stream-answer.ts';

const DEFAULT_MODEL = 'general-8b';

/** `quire ask`. */
export function askCommand(): CliCommand {
  return new CliCommand('ask')
    .description('Ask a model through the HTTP API and stream its answer.')
    .argument('<question...>', 'Words of the question. `-` inserts the standard input.')
    .option('--kb <name>', 'Name or id of a knowledge base to answer from. The sources are listed after the answer.')
    .option('--model <id>', 'Model id', DEFAULT_MODEL)
    .option('--system <text>', 'System message')
    .option('--agent', 'Let the model search the knowledge base itself, as often as it needs, and show each search')
    .jsonOption('Print the complete response as one JSON document.')
    .examples(
      'ask what is a tide table',
      'ask --kb Harbour "How many bicycles fit?"',
      'ask summarize this: - < notes.txt',
    )
    .action(ask);
}

interface AskOptions {
  kb?: string;
  model: string;
  system?: string;
  agent?: boolean;
  json?: boolean;
}

async function ask(words: readonly string[], { kb, model, system, agent, json = false }: AskOptions): Promise<void> {
  const api = await openApiClient();
  const question = await readQuestion(words);
  const knowledgeBaseId = kb === undefined ? undefined : (await requireKnowledgeBase(api, kb)).id;
  if (agent) {
    const request = { model, question, instructions: system, knowledgeBaseId };
    if (!json) return askAgent(api, request);
    return console.log(JSON.stringify(await api.json('POST', '/v1/responses', agentRequest(request)), null, 2));
  }
  const request = {
    model,
    messages: [
      ...(system === undefined ? [] : [{ role: 'system', content: system }]),
      { role: 'user', content: question },
    ],
    ...(knowledgeBaseId !== undefined && { knowledge_bases: [knowledgeBaseId] }),
  };
  if (json) return console.log(JSON.stringify(await api.json('POST', '/v1/chat/completions', request), null, 2));
  const { sources } = await streamAnswer(api, request, (part) => process.stdout.write(part));
  console.log(sources === null ? '' : `\n\n${sources}`);
}

/** Joins the words; the word `-` becomes the text of the standard input. */
async function readQuestion(words: readonly string[]): Promise<string> {
  if (!words.includes('-')) return words.join(' ');
  const input = (await text(process.stdin)).trim();
  const question = words
    .map((word) => (word === '-' ? `\n${input}\n` : word))
    .join(' ')
    .trim();
  if (question === '') throw new OperatorError('The standard input is empty: there is no question to ask.');
  return question;
}
