import { isDeepStrictEqual } from 'node:util';
import type { ChatMessage, ChatPrompt } from '../engine.ts';
import { arrangeRoles, type RoleTraits } from '../message-roles.ts';
import { isTemplateError, type UpstreamError } from './error-mapping.ts';

/** How long rejections are remembered: a server does not always say that it has another model. */
const REMEMBERED_MS = 10 * 60_000;

const ALL_ROLES: RoleTraits = { systemFirst: true, systemAnywhere: true, repeatedRoles: true };

/**
 * Errors of chat templates, and the traits that they exclude. The last message is also the one of older Mistral models
 * about a system message; newer ones begin it with "After the optional system message".
 */
const REJECTIONS: readonly { pattern: RegExp; excluded: Partial<RoleTraits> }[] = [
  {
    pattern: /\broles must alternate\b|\bunexpected role '(\w+)' after role '\1'/i,
    excluded: { repeatedRoles: false },
  },
  { pattern: /\bsystem message must be (?:at the beginning|(?:the )?first)\b/i, excluded: { systemAnywhere: false } },
  {
    pattern: /\bsystem role (?:is )?not supported\b|(?<!system message, )\bconversation roles must alternate\b/i,
    excluded: { systemAnywhere: false, systemFirst: false },
  },
];

/** Arranges a prompt for a chat template with these traits. */
export function arrangePrompt(prompt: ChatPrompt, traits: RoleTraits): ChatPrompt {
  return { ...prompt, messages: arrangeRoles<ChatMessage>(prompt.messages, traits) };
}

/** The sequences of roles that the chat template of an upstream's model supports, learned from its rejections. */
export class LearnedRoles {
  readonly #weights: () => string | null;
  readonly #now: () => number;
  #traits = ALL_ROLES;
  #learnedAt = Number.NEGATIVE_INFINITY;
  #learnedOf: string | null = null;

  /** `weights`: the model that the server reports. `now`: milliseconds of a monotonic clock. */
  constructor(weights: () => string | null, now: () => number = () => performance.now()) {
    this.#weights = weights;
    this.#now = now;
  }

  /** What is known of the template; all sequences by default. */
  get traits(): RoleTraits {
    const isExpired = this.#now() - this.#learnedAt >= REMEMBERED_MS || this.#weights() !== this.#learnedOf;
    if (isExpired) this.#traits = ALL_ROLES;
    return this.#traits;
  }

  /** Remembers traits with which a rejected request succeeded, beside what other requests have learned. */
  learn(traits: RoleTraits): void {
    const before = this.traits;
    const learned = {
      systemFirst: before.systemFirst && traits.systemFirst,
      systemAnywhere: before.systemAnywhere && traits.systemAnywhere,
      repeatedRoles: before.repeatedRoles && traits.repeatedRoles,
    };
    if (isDeepStrictEqual(before, learned)) return;
    this.#traits = learned;
    this.#learnedAt = this.#now();
    this.#learnedOf = this.#weights();
  }
}

/** The traits with which a rejected prompt is worth another attempt; null when the error leaves nothing to change. */
export function excludeRoles(prompt: ChatPrompt, traits: RoleTraits, error: UpstreamError): RoleTraits | null {
  if (!isTemplateError(error)) return null;
  const sent = arrangePrompt(prompt, traits);
  for (const { pattern, excluded } of REJECTIONS) {
    if (!pattern.test(error.upstreamMessage)) continue;
    const stricter = { ...traits, ...excluded };
    if (!isDeepStrictEqual(arrangePrompt(prompt, stricter), sent)) return stricter;
  }
  return null;
}
