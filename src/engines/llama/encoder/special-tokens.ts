import { type LlamaModel, LlamaVocabularyType } from 'node-llama-cpp';

/** Special tokens around a text. */
export interface SpecialTokens {
  before: readonly number[];
  after: readonly number[];
}

/** Special tokens around and between a query and a document. */
export interface PairSpecialTokens extends SpecialTokens {
  between: readonly number[];
  documentFirst: boolean;
}

/** Placeholders of a rerank template, as llama.cpp's converter writes them. */
const PLACES = /\{(query|document)\}/;

/**
 * Returns the special tokens around one text. BERT always has some; for others the metadata decide. node-llama-cpp
 * omits the first one of SentencePiece's unigram model, and the last one where there is no first.
 */
export function textSpecialTokens(model: LlamaModel): SpecialTokens {
  const { tokens, vocabularyType } = model;
  const added = model.fileInfo.metadata.tokenizer.ggml as { add_eos_token?: boolean };
  const appends = added.add_eos_token ?? (vocabularyType === LlamaVocabularyType.ugm || tokens.shouldAppendEosToken);
  const after = vocabularyType === LlamaVocabularyType.wpm ? tokens.sep : appends ? tokens.eos : null;
  return { before: beginning(model), after: after === null ? [] : [after] };
}

/**
 * Returns the special tokens around a query and a document, from the rerank template if there is one. Otherwise the end
 * tokens of both texts: BERT has one token between them, RoBERTa two. Throws an Error when the model has none.
 */
export function pairSpecialTokens(model: LlamaModel): PairSpecialTokens {
  const template = model.fileInfo.metadata.tokenizer['chat_template.rerank'];
  if (template !== undefined) return aroundTemplate(model, template);
  const { sep } = model.tokens;
  const eos = model.vocabularyType === LlamaVocabularyType.wpm ? null : model.tokens.eos;
  const between = [eos, sep].filter((token) => token !== null);
  const [end] = between;
  if (end === undefined) throw new Error('its vocabulary has no token that separates a query from a document');
  return { before: beginning(model), between, after: [end], documentFirst: false };
}

function aroundTemplate(model: LlamaModel, template: string): PairSpecialTokens {
  const [before = '', first, between = '', second, after = '', ...more] = template.split(PLACES);
  if (second === undefined || first === second || more.length > 0) {
    throw new Error('its rerank template must have one placeholder for the query and one for the document');
  }
  const tokenizeCooperatively = (text: string): number[] => model.tokenize(text, true, 'trimLeadingSpace');
  return {
    before: tokenizeCooperatively(before),
    between: tokenizeCooperatively(between),
    after: tokenizeCooperatively(after),
    documentFirst: first === 'document',
  };
}

function beginning({ tokens, vocabularyType }: LlamaModel): number[] {
  const adds = vocabularyType === LlamaVocabularyType.wpm || tokens.shouldPrependBosToken;
  return adds && tokens.bos !== null ? [tokens.bos] : [];
}
