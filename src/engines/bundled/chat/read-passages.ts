import type { ChatMessage, ChatPrompt } from '../../engine.ts';
import { fencedPassages } from './fences.ts';
import { isInstruction, isLabel, LABEL_OF_QUESTION, splitLabelled } from './labels.ts';
import type { Passage } from './passage.ts';
import { isOwnQuestion, isQuestion } from './question.ts';

/** The question of a chat and the passages to answer it from. */
export interface Reading {
  passages: Passage[];
  /** Whether they are passages for sure, and no talk that a question happens to follow. */
  sure: boolean;
  /** The user's question, as it stands. */
  question: string;
  /** What the user said before, for a question that leans on it; empty where it stands alone. */
  before: string;
  /** What the instructions want to be said where the passages have no answer; null where they say nothing. */
  decline: string | null;
}

/** Characters from which a text without any sign of passages is sure to be one: shorter ones may be only talk. */
const SURE_CHARACTERS = 160;
/** What instructions name that are about passages. */
const ABOUT_PASSAGES =
  /\b(?:context|documents?|passages?|sources?|text|article|information|excerpts?|following|below|provided|facts)\b/i;

/** `Answer:`, with which some prompts end. */
const ANSWER_LABEL = /^\W*(?:answer|response|a)\W*$/i;

/** Words that stand for something said before. */
const LEANING =
  /\b(?:it|its|he|him|his|she|her|hers|they|them|their|theirs|this|that|these|those|there|then|one|ones)\b/i;
const DECLINE =
  /\b(?:say|reply|respond|answer|write|output)\b(?: only| just| exactly| simply| with| that| as|:)*\s*["“'‘`]([^"”'’`\n]{2,120}(?:['’][a-z][^"”'’`\n]{0,120})?)["”'’`]/i;

/**
 * Finds the passages of a chat and the question about them: passages that were given as such, those in system messages
 * and in what the user pasted. Null where there are none, or the last message asks nothing of them. Pure.
 */
export function readPassages(prompt: ChatPrompt): Reading | null {
  const { messages } = prompt;
  const last = messages.at(-1);
  if (last?.role !== 'user') return null;
  const given = splitUser(last.content ?? '');
  const { question } = given;
  if (!isQuestion(question) || isOwnQuestion(question)) return null;
  const system = messages
    .filter((message) => message.role === 'system')
    .map((message) => readText(message.content ?? ''));
  const earlier = messages
    .slice(0, -1)
    .filter((message) => message.role === 'user')
    .map((message) => splitUser(message.content ?? ''));
  const reads = [...system, ...earlier, given];
  const all = [...(prompt.documents ?? []), ...reads.flatMap((read) => read.passages)];
  const passages = all.filter((passage) => passage.text.trim() !== '');
  // None that match are passages too: there is nothing to answer from, and the user is to hear so.
  if (passages.length === 0 && prompt.documents === undefined) return null;
  const instructions = [...system.map((read) => read.instructions), given.instructions].join('\n');
  return {
    passages,
    sure: prompt.documents !== undefined || reads.some((read) => read.sure),
    question,
    before: leans(question, messages) ? (earlier.at(-1)?.question ?? '') : '',
    decline: DECLINE.exec(instructions)?.[1]?.trim() ?? null,
  };
}

/** Whether a question means something that was said before. */
function leans(question: string, messages: readonly ChatMessage[]): boolean {
  const first = messages.findIndex((message) => message.role === 'user');
  return first !== messages.length - 1 && (LEANING.test(question) || question.split(/\s+/).length <= 3);
}

/** A text as passages and what is said about them. */
interface Read {
  passages: Passage[];
  sure: boolean;
  instructions: string;
}

/** Reads a text that is no question: a system message, or what stands around a question. */
export function readText(text: string): Read {
  const fenced = fencedPassages(text);
  if (fenced !== null) return { passages: fenced.passages, sure: true, instructions: fenced.outside };
  const labelled = splitLabelled(text);
  if (labelled !== null) return { passages: labelled.passages, sure: true, instructions: labelled.before };
  const paragraphs = text.split(/\n\s*\n/);
  const prose = paragraphs.filter((paragraph) => !isInstruction(paragraph) && !isLabel(paragraph));
  const bare = prose.join('\n\n').trim();
  const instructions = paragraphs.filter((paragraph) => isInstruction(paragraph)).join('\n');
  const sure = bare.length >= SURE_CHARACTERS || ABOUT_PASSAGES.test(instructions);
  return { passages: bare === '' ? [] : [{ text: bare }], sure: sure && bare !== '', instructions };
}

/** A user's message as what it asks and what it was pasted beside. */
function splitUser(text: string): Read & { question: string } {
  const trimmed = text.trim();
  const labelled = [...trimmed.matchAll(LABEL_OF_QUESTION)].at(-1);
  if (labelled !== undefined) {
    const asked = trimmed.slice(labelled.index + labelled[0].length).trim();
    // What follows the question's own paragraph is pasted, too: some put the question first.
    const parts = asked.split(/\n\s*\n|\n(?=[^\n:]{1,30}:)/).filter((part) => !ANSWER_LABEL.test(part));
    const [question = '', ...behind] = parts;
    return { ...readText([trimmed.slice(0, labelled.index), ...behind].join('\n\n')), question: question.trim() };
  }
  const fenced = fencedPassages(trimmed);
  if (fenced !== null) {
    const { passages, outside } = fenced;
    return { passages, sure: true, instructions: outside, question: lastQuestion(outside.trim().split(/\n+/)) };
  }
  const paragraphs = trimmed.split(/\n+/);
  if (paragraphs.length === 1) return splitLine(trimmed);
  const question = lastQuestion(paragraphs);
  return { ...readText(without(trimmed, question)), question };
}

/** The last paragraph with a question mark, else the last or the first, whichever asks. */
function lastQuestion(paragraphs: readonly string[]): string {
  const marked = paragraphs.findLast((paragraph) => paragraph.trimEnd().endsWith('?') && isQuestion(paragraph));
  const [first = '', last = ''] = [paragraphs[0], paragraphs.at(-1)];
  return (marked ?? (!isQuestion(last) && isQuestion(first) ? first : last)).trim();
}

const without = (text: string, part: string): string => {
  const at = text.lastIndexOf(part);
  return part === '' || at < 0 ? text : `${text.slice(0, at)}\n\n${text.slice(at + part.length)}`;
};

/** One line: a question, or a pasted text with a question at its end or its beginning. */
function splitLine(line: string): Read & { question: string } {
  const sentences = line.split(/(?<=[.?!]["”')]?)\s+(?=\S)/);
  const isAsking = (sentence: string | undefined): boolean => sentence?.trimEnd().endsWith('?') ?? false;
  const at = isAsking(sentences.at(-1)) ? sentences.length - 1 : isAsking(sentences[0]) ? 0 : -1;
  if (sentences.length < 2 || at < 0) return { passages: [], sure: false, instructions: '', question: line };
  return { ...readText(sentences.toSpliced(at, 1).join(' ')), question: sentences[at] ?? '' };
}
