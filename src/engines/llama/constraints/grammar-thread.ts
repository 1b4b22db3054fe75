/** Main module of the grammar compiler thread. Started by `grammar-compiler.ts`. */
import { parentPort } from 'node:worker_threads';
import { toErrorFacts } from '../runtime/error-facts.ts';
import type { GrammarReply } from './grammar-compiler.ts';
import { buildGrammar, type GrammarSource } from './request-grammar.ts';

parentPort?.on('message', ({ id, wish }: { id: number; wish: GrammarSource }) => {
  parentPort?.postMessage(written(id, wish));
});

function written(id: number, wish: GrammarSource): GrammarReply {
  try {
    return { id, grammar: buildGrammar(wish) };
  } catch (error) {
    return { id, refusal: toErrorFacts(error) };
  }
}
