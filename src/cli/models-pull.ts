import { InvalidArgumentError } from 'commander';
import { OperatorError } from '../lib/operator-error.ts';
import { isSourceForm, parseModelSource } from '../models/downloads/model-source.ts';
import type { PulledModel } from '../models/downloads/pull-model.ts';
import { formatMegabytes, printResult } from './output.ts';
import { ProgressLine } from './progress-line.ts';

const HASH_SOURCE = {
  operator: 'as given',
  hub: 'as stated by the hub',
  nobody: 'not verified: compare it with the published one',
} as const;

/** Parses the argument of `quire models pull`. Throws an `InvalidArgumentError`. */
export function parseSource(text: string): string {
  if (isSourceForm(text)) return text;
  throw new InvalidArgumentError(
    'Expected a model name, a tag such as llama3.1:8b, hf:owner/repository/file.gguf or a URL.',
  );
}

/** Parses a SHA-256 in hexadecimal digits. Throws an `InvalidArgumentError`. */
export function parseSha256(text: string): string {
  if (/^[0-9a-f]{64}$/i.test(text)) return text.toLowerCase();
  throw new InvalidArgumentError('A SHA-256 has 64 hexadecimal digits.');
}

interface PullOptions {
  name?: string;
  sha256?: string;
  json?: boolean;
}

/** `quire models pull`. */
export async function pullCommand(word: string, { name, sha256, ...output }: PullOptions) {
  // Imported here: the other commands of `models` need no configuration schema.
  const { loadConfig } = await import('../config/config.ts');
  const config = loadConfig();
  const source = parseModelSource(word, config.hubUrl, name);
  const stop = new AbortController();
  const stopped = new OperatorError('Stopped. The received part is kept: the same pull resumes it.');
  process.once('SIGINT', () => stop.abort(stopped));
  const line = new ProgressLine(process.stderr);
  const { pullModel } = await import('../models/downloads/pull-model.ts');
  try {
    const options = {
      sha256: sha256 ?? null,
      onProgress: (transferred: Parameters<ProgressLine['show']>[0]) => line.show(transferred),
      onRetry: (reason: string, pauseMs: number) =>
        line.printLine(`${reason}; retrying in ${Math.ceil(pauseMs / 1000)} s`),
    };
    const pulled = await pullModel({ config }, source, options, stop.signal);
    line.end();
    const { name: called, path, bytes, card, isNew } = pulled;
    printResult(output, { name: called, path, bytes, is_new: isNew, ...card }, () => describePull(pulled));
  } finally {
    line.end();
  }
}

function describePull({ name, bytes, card, isNew }: PulledModel): string {
  const parameters =
    card === null ? '' : `, ${card.architecture}, ${(card.parameters / 1e9).toFixed(2)} billion parameters`;
  const id =
    card?.use === 'embedding' ? 'embed-large-en-v1.5' : card?.use === 'rerank' ? 'reranker-v2-m3' : 'general-8b';
  return [
    `${name} is on the disk${isNew ? '' : ' already'}: ${formatMegabytes(bytes)}${parameters}.`,
    ...(card === null ? [] : [`SHA-256 ${card.sha256} (${HASH_SOURCE[card.sha256_from]})`]),
    `Bind it: quire models use ${id}=${name}`,
  ].join('\n');
}
