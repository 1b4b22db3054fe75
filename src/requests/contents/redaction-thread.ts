/** Worker thread that redacts contents. The parent enforces a time limit, because patterns may backtrack forever. */

import { parentPort } from 'node:worker_threads';
import { type AnswerItem, REDACTION_MARGIN } from '../../lib/recorded-answer.ts';
import type { TimedThreadReply } from '../../lib/timed-thread.ts';
import { createRedactor, type RedactionRules } from './redact.ts';
import { exceedsMaxText, mapTexts, type TruncatedPrompt } from './truncate-prompt.ts';

/** Contents of one request before redaction. */
export interface RawContents {
  prompt: TruncatedPrompt | null;
  answer: readonly AnswerItem[];
}

/** Contents of requests of one organization. */
export interface Redaction extends RedactionRules {
  contents: readonly RawContents[];
}

/** Redacted contents, as JSON. */
export interface RedactedContents {
  prompt: string | null;
  answer: string;
}

/** Truncates a redacted text to its final length. */
const truncate = (text: string, maxText: number): string =>
  `${text.slice(0, Math.min(maxText, Math.max(0, text.length - REDACTION_MARGIN)))}…`;

function redact({ prompt, answer }: RawContents, redactText: (text: string) => string): RedactedContents {
  const redactPrompt = ({ json, maxText }: TruncatedPrompt) => {
    const convert = (text: string) =>
      exceedsMaxText(text, maxText) ? truncate(redactText(text), maxText) : redactText(text);
    return JSON.stringify(mapTexts(JSON.parse(json), convert));
  };
  const items = answer.map(({ isTruncated, ...item }) => {
    const text = redactText(item.text);
    return { ...item, text: isTruncated ? truncate(text, text.length) : text };
  });
  return { prompt: prompt && redactPrompt(prompt), answer: JSON.stringify(items) };
}

const send = (reply: TimedThreadReply<RedactedContents[]>) => parentPort?.postMessage(reply);
parentPort?.on('message', ({ contents, ...rules }: Redaction) => {
  const redactText = createRedactor(rules);
  send({ result: contents.map((content) => redact(content, redactText)) });
});
send('ready');
