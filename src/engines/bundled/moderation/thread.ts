/** The thread that judges texts. Started by `bundled-moderation.ts`, with the path of the weights. */
import { readFileSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { Moderator } from './reader.ts';

/** A part of the work: texts to judge. */
export interface Portion {
  id: number;
  texts: string[];
}

/** What the thread says: that it has loaded, and then what came of each portion. */
export type ThreadMessage =
  | { type: 'loaded'; categories: readonly string[]; parameters: number }
  | { type: 'judged'; id: number; scores: number[][]; tokens: number };

const moderator = new Moderator(readFileSync(workerData.file));

function say(message: ThreadMessage): void {
  parentPort?.postMessage(message);
}

parentPort?.on('message', ({ id, texts }: Portion) => {
  const scores: number[][] = [];
  let tokens = 0;
  for (const text of texts) {
    const assessed = moderator.assess(text);
    scores.push(assessed.scores);
    tokens += assessed.tokens;
  }
  say({ type: 'judged', id, scores, tokens });
});

say({ type: 'loaded', categories: moderator.head.categories, parameters: moderator.parameters });
