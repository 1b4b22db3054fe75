import { createInterface } from 'node:readline';
import { styleText } from 'node:util';
import { OperatorError } from '../lib/operator-error.ts';
import { openApiClient } from './api-client.ts';
import { ChatSession } from './chat-session.ts';
import { CliCommand } from './command.ts';
import { requireKnowledgeBase } from './knowledge-base.ts';

const DEFAULT_MODEL = 'general-8b';
const PROMPT = '>>> ';
const CONTINUATION_PROMPT = '... ';
/** Delimiter of a message of several lines. */
const BLOCK = '"""';

interface ChatOptions {
  kb?: string;
  model: string;
  system?: string;
}

/** `quire chat`. */
export function chatCommand(): CliCommand {
  return new CliCommand('chat')
    .summary('Chat with a model')
    .description('Chat with a model in the terminal. Lines from a pipe are answered one after the other.')
    .option('--kb <name>', 'Name or id of a knowledge base to answer from')
    .option('--model <id>', 'Model id', DEFAULT_MODEL)
    .option('--system <text>', 'System message')
    .examples('chat', 'chat --kb Harbour')
    .action(async ({ kb, model, system }: ChatOptions) => {
      const api = await openApiClient();
      const knowledgeBase = kb === undefined ? null : await requireKnowledgeBase(api, kb);
      const session = new ChatSession(api, { model, knowledgeBase, system: system ?? null });
      await runChat(session, {
        input: process.stdin,
        output: process.stdout,
        isTerminal: process.stdin.isTTY === true,
      });
    });
}

/** Where a chat reads and writes. */
export interface ChatTerminal {
  input: NodeJS.ReadableStream;
  output: NodeJS.WritableStream;
  /** Shows prompts, edits lines and lets Ctrl-C stop an answer. */
  isTerminal: boolean;
}

/** Answers line by line until the input ends or `/bye`. Without a terminal, the first error ends the chat. */
export async function runChat(session: ChatSession, { input, output, isTerminal }: ChatTerminal): Promise<void> {
  const terminal = createInterface({ input, output, terminal: isTerminal });
  let answering: AbortController | null = null;
  const say = (text: string) => output.write(`${text}\n`);
  const dim = (text: string) => (isTerminal ? styleText('dim', text, { stream: output as NodeJS.WriteStream }) : text);
  const prompt = (text: string) => {
    if (!isTerminal) return;
    terminal.setPrompt(text);
    terminal.prompt();
  };
  terminal.on('SIGINT', () => {
    if (answering !== null) return answering.abort();
    // Discards the typed part of a line.
    terminal.write(null, { ctrl: true, name: 'e' });
    terminal.write(null, { ctrl: true, name: 'u' });
    say(`\n${dim('/bye or Ctrl-D leaves.')}`);
    terminal.prompt();
  });
  const respond = async (text: string) => {
    if (text.startsWith('/')) return session.command(text);
    answering = new AbortController();
    try {
      const { sources, isStopped } = await session.answer(text, (part) => output.write(part), answering.signal);
      return `${isStopped ? dim(' (stopped)') : ''}\n${sources === null ? '' : `${dim(sources)}\n`}`;
    } finally {
      answering = null;
    }
  };
  if (isTerminal) say(dim(`${session.describe()} /help lists the commands.`));
  prompt(PROMPT);
  let block: string[] | null = null;
  for await (const line of terminal) {
    const message = readMessage(line, block);
    block = message.block;
    if (message.text !== null && message.text.trim() !== '') {
      try {
        const shown = await respond(message.text);
        if (shown === null) break;
        say(shown);
      } catch (error) {
        if (!isTerminal || !(error instanceof OperatorError)) throw error;
        say(error.message);
      }
    }
    prompt(block === null ? PROMPT : CONTINUATION_PROMPT);
  }
  terminal.close();
  if (isTerminal) output.write('\n');
}

/** Collects the lines between two `"""`. `text`: the complete message; null while the block is open. */
function readMessage(line: string, block: string[] | null): { text: string | null; block: string[] | null } {
  if (block === null && !line.startsWith(BLOCK)) return { text: line, block: null };
  const part = block === null ? line.slice(BLOCK.length) : line;
  if (!part.endsWith(BLOCK)) return { text: null, block: [...(block ?? []), part] };
  return { text: [...(block ?? []), part.slice(0, -BLOCK.length)].join('\n'), block: null };
}
