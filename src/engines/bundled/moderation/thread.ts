/** The thread that judges texts. Started by `bundled-moderation.ts`, with the path of the weights. */
import { readFileSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { MODERATION_CATEGORIES } from '../../moderation-engine.ts';
import type { ThreadMessage } from '../model-thread.ts';
import { type Judged, named } from './judging.ts';
import { Moderator } from './reader.ts';

/** What the thread says of its model. */
export interface LoadedModerator {
  parameters: number;
}

const moderator = new Moderator(readFileSync(workerData.file));
const { categories } = moderator.head;
const missing = MODERATION_CATEGORIES.filter((category) => !categories.includes(category));
if (missing.length > 0) throw new Error(`The moderation model does not judge ${missing.join(', ')}.`);
const places = named((category) => categories.indexOf(category));

function say(message: ThreadMessage<LoadedModerator, Judged>): void {
  parentPort?.postMessage(message);
}

parentPort?.on('message', (texts: string[]) => {
  let tokens = 0;
  const scores = texts.map((text) => {
    const assessed = moderator.assess(text);
    tokens += assessed.tokens;
    return named((category) => assessed.scores[places[category]] ?? 0);
  });
  say({ type: 'done', result: { scores, tokens } });
});

say({ type: 'loaded', loaded: { parameters: moderator.parameters } });
