/** Part of a compiled glob. `epsilon` parts match nothing and lead to several next parts. */
type Part =
  | { kind: 'one'; matches: (character: string) => boolean }
  | { kind: 'many'; matches: (character: string) => boolean }
  | { kind: 'epsilon'; next: number[] };

const isAny = () => true;
const isWithinSegment = (character: string) => character !== '/';

/**
 * Compiles a glob of whole URLs: `*` within a path segment, `**` across segments, `?`, `[a-z]`, `[!a-z]`, `{a,b}`
 * without nesting, `\` before a literal character. Case-sensitive. Simulates a finite automaton, so that matching takes
 * at most pattern length times URL length: patterns come from tenants, and a regular expression may backtrack forever.
 */
export function compileGlob(pattern: string): (url: string) => boolean {
  const parts = parseGlob([...pattern]);
  return (url) => {
    let active = close(parts, new Set([0]));
    for (const character of url) {
      const next = new Set<number>();
      for (const at of active) {
        const part = parts[at];
        if (part === undefined || part.kind === 'epsilon' || !part.matches(character)) continue;
        next.add(part.kind === 'many' ? at : at + 1);
      }
      if (next.size === 0) return false;
      active = close(parts, next);
    }
    return active.has(parts.length);
  };
}

/** Adds all positions that are reachable without a character. A set visits what is added during the iteration. */
function close(parts: readonly Part[], positions: Set<number>): Set<number> {
  for (const at of positions) {
    const part = parts[at];
    if (part?.kind === 'many') positions.add(at + 1);
    else if (part?.kind === 'epsilon') for (const next of part.next) positions.add(next);
  }
  return positions;
}

function parseGlob(characters: readonly string[]): Part[] {
  const parts: Part[] = [];
  /** The open brace group: its start, and the ends of its alternatives. */
  let group: { start: { next: number[] }; ends: { next: number[] }[] } | null = null;
  const epsilon = (next: number[] = []) => {
    const part = { kind: 'epsilon' as const, next };
    parts.push(part);
    return part;
  };
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at] ?? '';
    if (character === '\\') parts.push(literal(characters[++at] ?? ''));
    else if (character === '*' && characters[at + 1] === '*') {
      parts.push({ kind: 'many', matches: isAny });
      at += 1;
    } else if (character === '*') parts.push({ kind: 'many', matches: isWithinSegment });
    else if (character === '?') parts.push({ kind: 'one', matches: isWithinSegment });
    else if (character === '[') {
      const { end, matches } = parseClass(characters, at);
      parts.push({ kind: 'one', matches });
      at = end;
    } else if (character === '{') {
      group = { start: epsilon(), ends: [] };
      group.start.next.push(parts.length);
    } else if (character === ',' && group !== null) {
      group.ends.push(epsilon());
      group.start.next.push(parts.length);
    } else if (character === '}' && group !== null) {
      for (const end of group.ends) end.next.push(parts.length);
      group = null;
    } else parts.push(literal(character));
  }
  return parts;
}

function literal(expected: string): Part {
  return { kind: 'one', matches: (character) => character === expected };
}

/** Parses `[a-z]` at `at`. A `]` directly after the bracket is a member. */
function parseClass(characters: readonly string[], at: number) {
  const isNegated = characters[at + 1] === '!';
  const first = at + (isNegated ? 2 : 1);
  const closing = characters.indexOf(']', first + 1);
  const end = closing === -1 ? characters.length : closing;
  const ranges: [string, string][] = [];
  for (let i = first; i < end; i++) {
    const from = characters[i] ?? '';
    const isRange = characters[i + 1] === '-' && i + 2 < end;
    ranges.push([from, isRange ? (characters[i + 2] ?? '') : from]);
    if (isRange) i += 2;
  }
  const isMember = (character: string) => ranges.some(([from, to]) => character >= from && character <= to);
  return { end, matches: (character: string) => character !== '/' && isMember(character) !== isNegated };
}
