import type { Conversation, Message } from './conversation.ts';
import {
  extractLabelled,
  extractTagged,
  isInstruction,
  isLabel,
  type Passage,
  QUESTION_LABEL,
} from './passage-formats.ts';
import { hasQuestionMark, isAboutModel, isGreetingOrThanks, isQuestion } from './question-detection.ts';

/** The question of a chat and the passages to answer it from. */
export interface QuestionContext {
  passages: Passage[];
  /** False when the passages may be talk that the question follows. */
  isCertain: boolean;
  /** Whether documents of a knowledge base were searched for. */
  isSearched: boolean;
  /** The user's question, verbatim. */
  question: string;
  /** The user's previous question if this is a follow-up question, else empty. */
  previousQuestion: string;
  /** The text that the instructions prescribe when there is no answer; null for none. */
  fallback: string | null;
}

/** Text without markup is certainly a passage from this length on. */
const MIN_CERTAIN_CHARACTERS = 160;
/** Nouns of instructions that refer to passages. */
const PASSAGE_NOUN =
  /\b(?:context|documents?|passages?|sources?|text|article|information|excerpts?|following|below|provided|facts)\b/i;

/** `Answer:` at the end of a prompt. */
const ANSWER_LABEL = /^\W*(?:answer|response|a)\W*$/i;

/** Pronouns of follow-up questions. */
const PRONOUN =
  /\b(?:it|its|he|him|his|she|her|hers|they|them|their|theirs|this|that|these|those|there|then|one|ones)\b/i;
/** Instructions with a quoted reply. */
const FALLBACK =
  /\b(?:say|reply|respond|answer|write|output)\b(?: only| just| exactly| simply| with| that| as|:)*\s*["“'‘`]([^"”'’`\n]{2,120}(?:['’][a-z][^"”'’`\n]{0,120})?)["”'’`]/i;

/**
 * Extracts the question of the last message and the passages to answer it from: documents of the prompt, and texts in
 * system and user messages. Null when there are no passages or the last message is no question about them. With
 * documents of the prompt, which come from a knowledge base that the caller named, every message is a question except
 * greetings and thanks.
 */
export function extractQuestionContext(prompt: Conversation): QuestionContext | null {
  const { messages } = prompt;
  const last = messages.at(-1);
  if (last?.role !== 'user') return null;
  const isSearched = prompt.documents !== undefined;
  const lastMessage = splitUserMessage(last.content ?? '', isSearched);
  const { question } = lastMessage;
  if (isSearched ? isGreetingOrThanks(question) : !isQuestion(question) || isAboutModel(question)) return null;
  const system = messages
    .filter((message) => message.role === 'system')
    .map((message) => splitText(message.content ?? ''));
  const earlier = messages
    .slice(0, -1)
    .filter((message) => message.role === 'user')
    .map((message) => splitUserMessage(message.content ?? '', isSearched));
  const parts = [...system, ...earlier, lastMessage];
  const all = [...(prompt.documents ?? []), ...parts.flatMap((part) => part.passages)];
  const passages = all.filter((passage) => passage.text.trim() !== '');
  // An empty list of documents is context too: the answer is that nothing was found.
  if (passages.length === 0 && !isSearched) return null;
  const instructions = [...system.map((read) => read.instructions), lastMessage.instructions].join('\n');
  return {
    passages,
    isSearched,
    isCertain: isSearched || parts.some((part) => part.isCertain),
    question,
    previousQuestion: isFollowUp(question, messages) ? (earlier.at(-1)?.question ?? '') : '',
    fallback: FALLBACK.exec(instructions)?.[1]?.trim() ?? null,
  };
}

/** Whether a question refers to an earlier message: it has a pronoun or at most three words. */
function isFollowUp(question: string, messages: readonly Message[]): boolean {
  const first = messages.findIndex((message) => message.role === 'user');
  return first !== messages.length - 1 && (PRONOUN.test(question) || question.split(/\s+/).length <= 3);
}

/** A text split into passages and instructions. */
interface SplitText {
  passages: Passage[];
  isCertain: boolean;
  instructions: string;
}

/** Splits a text without a question: a system message, or the text around a question. */
function splitText(text: string): SplitText {
  const tagged = extractTagged(text);
  if (tagged !== null) return { passages: tagged.passages, isCertain: true, instructions: tagged.outside };
  const labelled = extractLabelled(text);
  if (labelled !== null) return { ...labelled, isCertain: true };
  const paragraphs = text.split(/\n\s*\n/);
  const prose = paragraphs.filter((paragraph) => !isInstruction(paragraph) && !isLabel(paragraph));
  const passage = prose.join('\n\n').trim();
  const instructions = paragraphs.filter((paragraph) => isInstruction(paragraph)).join('\n');
  const isCertain = passage.length >= MIN_CERTAIN_CHARACTERS || PASSAGE_NOUN.test(instructions);
  return { passages: passage === '' ? [] : [{ text: passage }], isCertain: isCertain && passage !== '', instructions };
}

/**
 * Splits a user message into its question and the text around it. Where a knowledge base is searched, a remark before a
 * question ("I lost my laptop. What now?") belongs to the question: only labelled or long text is a passage.
 */
function splitUserMessage(text: string, isSearched: boolean): SplitText & { question: string } {
  const split = splitAtQuestion(text);
  if (!isSearched || split.isCertain) return split;
  return { passages: [], isCertain: false, instructions: split.instructions, question: text.trim() };
}

function splitAtQuestion(text: string): SplitText & { question: string } {
  const trimmed = text.trim();
  const labelled = [...trimmed.matchAll(QUESTION_LABEL)].at(-1);
  if (labelled !== undefined) {
    const labelledText = trimmed.slice(labelled.index + labelled[0].length).trim();
    // Passages may follow the question.
    const parts = labelledText.split(/\n\s*\n|\n(?=[^\n:]{1,30}:)/).filter((part) => !ANSWER_LABEL.test(part));
    const [question = '', ...following] = parts;
    return { ...splitText([trimmed.slice(0, labelled.index), ...following].join('\n\n')), question: question.trim() };
  }
  const tagged = extractTagged(trimmed);
  if (tagged !== null) {
    const { passages, outside } = tagged;
    return { passages, isCertain: true, instructions: outside, question: findQuestion(outside.trim().split(/\n+/)) };
  }
  const paragraphs = trimmed.split(/\n+/);
  if (paragraphs.length === 1) return splitLine(trimmed);
  const question = findQuestion(paragraphs);
  return { ...splitText(removeLast(trimmed, question)), question };
}

/** The last paragraph with a question mark, else the last or the first, whichever asks. */
function findQuestion(paragraphs: readonly string[]): string {
  const marked = paragraphs.findLast((paragraph) => hasQuestionMark(paragraph) && isQuestion(paragraph));
  const [first = '', last = ''] = [paragraphs[0], paragraphs.at(-1)];
  return (marked ?? (!isQuestion(last) && isQuestion(first) ? first : last)).trim();
}

const removeLast = (text: string, part: string): string => {
  const at = text.lastIndexOf(part);
  return part === '' || at < 0 ? text : `${text.slice(0, at)}\n\n${text.slice(at + part.length)}`;
};

/** Splits one line: a question, or a text that ends or starts with a question. */
function splitLine(line: string): SplitText & { question: string } {
  const sentences = line.split(/(?<=(?:[.?!？؟]|\p{Script=Greek};)["”')]?)\s+(?=\S)/u);
  const isAsking = (sentence: string | undefined): boolean => sentence !== undefined && hasQuestionMark(sentence);
  const at = isAsking(sentences.at(-1)) ? sentences.length - 1 : isAsking(sentences[0]) ? 0 : -1;
  if (sentences.length < 2 || at < 0) return { passages: [], isCertain: false, instructions: '', question: line };
  return { ...splitText(sentences.toSpliced(at, 1).join(' ')), question: sentences[at] ?? '' };
}
