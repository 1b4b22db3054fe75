import { randomLetters, seededUniform } from '../harness/random-numbers.ts';

/** A conversation: what its user says and how long the answers are. */
export interface Conversation {
  organization: string;
  system: string;
  turns: { text: string; answerTokens: number }[];
}

const ORGANIZATIONS = 4;
const SYSTEM_MESSAGES_PER_ORGANIZATION = 4;
/** 600 tokens. */
const SYSTEM_CHARACTERS = 2_400;

/** Conversations of 2 to 10 turns, whose organizations have a few system messages each. */
export function makeTrace(conversations: number, seed: number): Conversation[] {
  const random = seededUniform(seed);
  const between = (least: number, most: number) => least + Math.floor(random() * (most - least + 1));
  return Array.from({ length: conversations }, () => {
    const organization = between(1, ORGANIZATIONS);
    const agent = between(1, SYSTEM_MESSAGES_PER_ORGANIZATION);
    return {
      organization: `org_${organization}`,
      system: randomLetters(organization * 100 + agent, SYSTEM_CHARACTERS),
      turns: Array.from({ length: between(2, 10) }, () => ({
        text: randomLetters(between(1, 1e9), between(80, 880)),
        answerTokens: between(50, 300),
      })),
    };
  });
}
