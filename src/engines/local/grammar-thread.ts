/** The thread that writes grammars. Started by `grammar-writer.ts`. */
import { parentPort } from 'node:worker_threads';
import { type GrammarWish, writeGrammar } from './answer-grammar.ts';
import { factsOf } from './error-facts.ts';
import type { GrammarReply } from './grammar-writer.ts';

parentPort?.on('message', ({ id, wish }: { id: number; wish: GrammarWish }) => {
  parentPort?.postMessage(written(id, wish));
});

function written(id: number, wish: GrammarWish): GrammarReply {
  try {
    return { id, grammar: writeGrammar(wish) };
  } catch (error) {
    return { id, refusal: factsOf(error) };
  }
}
