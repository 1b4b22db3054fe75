/** The thread that writes grammars. Started by `grammar-compiler.ts`. */
import { parentPort } from 'node:worker_threads';
import { factsOf } from '../runtime/error-data.ts';
import type { GrammarReply } from './grammar-compiler.ts';
import { type GrammarWish, writeGrammar } from './request-grammar.ts';

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
