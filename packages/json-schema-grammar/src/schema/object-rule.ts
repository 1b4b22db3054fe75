import { literal } from '../grammar.ts';
import { UnsupportedSchemaError } from '../unsupported-schema-error.ts';
import { ANY_STRING, type Automaton, isEmpty } from './automaton.ts';
import { automatonRule } from './automaton-grammar.ts';
import { countLimits } from './bounds.ts';
import type { Case } from './cases.ts';
import type { Emitter, Leaf } from './emitter.ts';
import { listedNames, type MemberKind, memberKinds, memberSchemas, nameSchemas } from './members.ts';
import { textLanguage } from './text-rule.ts';

/** Maximum number of rules for an object with a limited number of members: members times counts. */
const MAX_COUNTED = 4_000;

interface Member {
  rule: string;
  value: string;
  required: boolean;
}

/** Members of an object. */
interface Plan {
  members: Member[];
  /** A rule for any unlisted member; null when there are none. */
  other: string | null;
  least: number;
  most: number | null;
  path: string;
}

/**
 * Compiles a rule for objects: listed members in their order with commas between those that are present, then others.
 */
export function objectRule(emitter: Emitter, parts: Case): Leaf | null {
  const { builder } = emitter;
  const path = parts[0]?.path ?? '';
  const allowed = namesAllowed(emitter, parts);
  const listed = listedNames(parts);
  const members: Member[] = [];
  for (const name of listed.names) {
    const required = listed.required.has(name);
    const value = memberRule(emitter, parts, name);
    if (value === null && required) return null;
    if (value === null) continue;
    const body = `${literal(`${JSON.stringify(name)}:`)} ${builder.json('sp')} ${value}`;
    members.push({ rule: builder.intern('member', body, path), value, required });
  }
  const kinds = memberKinds(parts, listed.names, allowed);
  const others = kinds.flatMap((kind) => otherMember(emitter, kind, path) ?? []);
  const { least, most } = countLimits(parts, 'minProperties', 'maxProperties');
  const other = others.length === 0 ? null : builder.intern('other', others.join(' | '), path);
  const plan: Plan = { members, other, least, most, path };
  if (members.length === 0 && least === 0 && most === null && kinds.length === 1 && others[0] === ANY_MEMBER) {
    return { rule: builder.json('object'), needs: [] };
  }
  if (other !== null && least > members.length + 1) throw new UnsupportedSchemaError(path, TOO_MANY_UNLISTED);
  const inside = membersRule(emitter, plan);
  if (inside === null) return null;
  const ws = builder.json('ws');
  const body = inside === '' ? `"{" ${ws} "}"` : `"{" ${ws} ${inside} ${ws} "}"`;
  const needs = members.filter((member) => member.required).map((member) => member.value);
  return { rule: builder.intern('object', body, path), needs };
}

const ANY_MEMBER = 'member';
const TOO_MANY_UNLISTED =
  "asks in 'minProperties' for several members that it does not list, which cannot be told apart";

function namesAllowed(emitter: Emitter, parts: Case): Automaton {
  const schemas = nameSchemas(parts);
  return schemas.length === 0 ? ANY_STRING : textLanguage(emitter, emitter.casesOf(schemas));
}

/** The rule for the value of a listed member; null when the member must be absent. */
function memberRule(emitter: Emitter, parts: Case, name: string): string | null {
  if (nameSchemas(parts).some(({ schema }) => !emitter.evaluator.accepts(schema, name))) return null;
  const schemas = memberSchemas(parts, name);
  return emitter.ruleOf(schemas, schemas[0]?.path ?? parts[0]?.path ?? '');
}

function otherMember(emitter: Emitter, kind: MemberKind, path: string): string | null {
  const { builder } = emitter;
  const value = emitter.ruleOf(kind.values, kind.values[0]?.path ?? path);
  if (value === null || isEmpty(kind.names)) return null;
  const name =
    kind.names === ANY_STRING ? builder.json('rest') : automatonRule(builder, kind.names, { spelling: 'json', path });
  if (kind.names === ANY_STRING && value === builder.json('value')) return builder.json(ANY_MEMBER);
  return builder.intern('member', `"\\"" ${name} ":" ${builder.json('sp')} ${value}`, path);
}

/** An expression for zero or more members with commas between them; null when no number of them is allowed. */
function membersRule({ builder }: Emitter, { members, other, least, most, path }: Plan): string | null {
  const sure = members.filter((member) => member.required).length;
  const counted = least > sure || (most !== null && (other !== null || most < members.length));
  const counts = counted ? Math.min(Math.max(least, most ?? 0), members.length + 1) + 1 : 1;
  if (counts * members.length > MAX_COUNTED) throw new UnsupportedSchemaError(path, 'is too large to be enforced');
  const ws = builder.json('ws');
  // What follows a member, by the number of members before, capped where more make no difference.
  const tail = (count: number, started: boolean): string | null => {
    const missing = counted ? Math.max(0, least - count) : 0;
    const room = counted && most !== null ? most - count : null;
    if (room !== null && room < missing) return null;
    if (other === null || room === 0) return missing > 0 ? null : '';
    if (missing > 1) return null;
    const also = builder.intern('also', `"," ${ws} ${other}`, path);
    if (started) return builder.repeat(also, { least: missing, most: room }, path);
    const some =
      `${other} ${builder.repeat(also, { least: 0, most: room === null ? null : room - 1 }, path)}`.trimEnd();
    return missing > 0 ? some : `(${some})?`;
  };
  const levels = Array.from({ length: counts }, (_, count) => count);
  let started = [...levels, counts].map((count) => tail(count, true));
  let fresh = [...levels, counts].map((count) => tail(count, false));
  for (const member of members.toReversed()) {
    const step = (
      before: string,
      follows: readonly (string | null)[],
      skips: readonly (string | null)[],
      index: number,
    ): string | null => {
      const after = follows[counted ? Math.min(index + 1, counts) : 0] ?? null;
      const ways = after === null ? [] : [`${before}${member.rule} ${after}`.trimEnd()];
      const skip = member.required ? null : (skips[index] ?? null);
      if (skip !== null) ways.push(skip === '' ? '""' : skip);
      return ways.length === 0 ? null : builder.intern('members', ways.join(' | '), path);
    };
    const nextFresh = fresh.map((_, index) => step('', started, fresh, index));
    started = started.map((_, index) => step(`"," ${ws} `, started, started, index));
    fresh = nextFresh;
  }
  return fresh[0] ?? null;
}
