import { literal } from '../grammar.ts';
import { terminal } from '../schema/automaton-grammar.ts';
import type { GrammarRules, GrammarSymbol, Repetition, SymbolSequence } from './rules.ts';

/** Prints a grammar as GBNF. */
export function printGbnf(rules: GrammarRules): string {
  return [...rules]
    .map(([name, alternatives]) => `${name} ::= ${alternatives.map(printSequence).join(' | ')}\n`)
    .join('');
}

function printSequence(symbols: SymbolSequence): string {
  const parts: string[] = [];
  let text = '';
  for (const symbol of symbols) {
    const char = soleCharacter(symbol);
    if (char !== null) {
      text += char;
      continue;
    }
    if (text !== '') parts.push(literal(text));
    text = '';
    parts.push(printSymbol(symbol));
  }
  if (text !== '' || parts.length === 0) parts.push(literal(text));
  return parts.join(' ');
}

/** The character of a terminal that has exactly one; null otherwise. */
function soleCharacter(symbol: GrammarSymbol): string | null {
  if (symbol.kind !== 'terminal') return null;
  const [from, to] = symbol.set;
  return symbol.set.length === 2 && from === to ? String.fromCodePoint(from ?? 0) : null;
}

function printSymbol(symbol: GrammarSymbol): string {
  if (symbol.kind === 'terminal') return terminal(symbol.set);
  if (symbol.kind === 'rule') return symbol.name;
  const [only] = symbol.sequence;
  // Without parentheses, which would add a rule per repetition; llama.cpp limits the number of rules.
  const isSimple = symbol.sequence.length === 1 && only?.kind !== 'repetition';
  const unit = printSequence(symbol.sequence);
  return `${isSimple ? unit : `(${unit})`}${printCount(symbol)}`;
}

function printCount({ least, most }: Repetition): string {
  if (most === null) return least === 0 ? '*' : least === 1 ? '+' : `{${least},}`;
  if (least === 0 && most === 1) return '?';
  return least === most ? `{${least}}` : `{${least},${most}}`;
}
