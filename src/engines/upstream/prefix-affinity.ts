import { hash } from 'node:crypto';
import type { GenerationRequest } from '../engine.ts';

/** Inputs of the load balancer: requests in flight, and when the replica was ejected; null while it is healthy. */
export interface ReplicaLoad {
  inFlight: number;
  ejectedAt: number | null;
}

/** A replica takes further prompts while it has fewer requests in flight than this factor of the mean. */
export const LOAD_FACTOR = 1.25;
/** Requests above the load bound that a replica accepts for prefixes in its cache. */
export const CACHED_SLACK = 1;

/** Characters of the system messages that count. Longer ones differ earlier. */
const SYSTEM_CHARACTERS = 16_384;
/**
 * Characters of the first user message, or of a text prompt. Questions about one long document, which begins the
 * message, share a replica; conversations that begin differently do not.
 */
const USER_CHARACTERS = 1_024;

/**
 * Returns the key by which prompts with a common prefix share a replica: a hash of the beginning of the prompt up to
 * the first user message, which stays the same while a conversation goes on. Keys of two organizations differ.
 */
export function affinityKey({ prompt, scope, cacheScope = scope }: AffinityPrompt): string {
  return hash('sha1', JSON.stringify([cacheScope, ...promptHead(prompt)]), 'base64url');
}

type AffinityPrompt = Pick<GenerationRequest, 'prompt' | 'scope' | 'cacheScope'>;

function promptHead(prompt: GenerationRequest['prompt']): string[] {
  if (prompt.kind === 'text') return [prompt.text.slice(0, USER_CHARACTERS)];
  const { messages } = prompt;
  const user = messages.findIndex(({ role }) => role === 'user');
  const system = messages.slice(0, Math.max(user, 0)).map(({ content }) => content ?? '');
  const first = messages[Math.max(user, 0)]?.content ?? '';
  return [system.join('\0').slice(0, SYSTEM_CHARACTERS), first.slice(0, USER_CHARACTERS)];
}

/**
 * Orders replicas for a key by rendezvous hashing, as indices of `urls`: when a replica leaves, only its keys move,
 * each to the next one in its order. All processes compute the same order.
 */
export function rankReplicas(key: string, urls: readonly string[]): number[] {
  const weights = urls.map((url) => hash('sha1', `${url}\0${key}`, 'hex'));
  const isHeavier = (a: number, b: number) => ((weights[a] as string) > (weights[b] as string) ? -1 : 1);
  return [...urls.keys()].toSorted(isHeavier);
}

/** Replicas of a key. `last` served the prefix last and is absent for a new prefix. `order` is from `rankReplicas`. */
export interface ReplicaPreference {
  last?: number | undefined;
  order: readonly number[];
}

/**
 * Returns the last replica of a prefix, or the first in the order, that is healthy and whose load is within the bound:
 * with the new request, at most `LOAD_FACTOR` times the mean of the healthy replicas, rounded up, and for the last
 * replica `CACHED_SLACK` more. Returns null if no replica qualifies; the load balancer then decides. `avoid`: replicas
 * that this request has tried.
 */
export function chooseWithinBound(
  replicas: readonly ReplicaLoad[],
  { last, order }: ReplicaPreference,
  avoid: (index: number) => boolean,
): number | null {
  const healthy = order.filter((index) => replicas[index]?.ejectedAt === null);
  const inFlight = (index: number) => replicas[index]?.inFlight ?? 0;
  const total = healthy.reduce((sum, index) => sum + inFlight(index), 1);
  const capacity = Math.ceil((LOAD_FACTOR * total) / healthy.length);
  const isFree = (index: number, slack: number) => !avoid(index) && inFlight(index) < capacity + slack;
  if (last !== undefined && healthy.includes(last) && isFree(last, CACHED_SLACK)) return last;
  return healthy.find((index) => isFree(index, 0)) ?? null;
}
