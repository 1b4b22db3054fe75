import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { IngestionError } from '../../ingestion-error.ts';
import type { OcrOptions } from '../../ocr-options.ts';

/** An OCR engine with its languages. */
export interface OcrEngine {
  /** Data files of the bundled engine by language. It also prepares images for the system's. */
  data: ReadonlyMap<string, string>;
  /** Arguments of the system's `tesseract`; null: the bundled engine recognizes. */
  systemArguments: readonly string[] | null;
}

/** Data of the system's `tesseract` that are no languages. */
const NOT_LANGUAGES: ReadonlySet<string> = new Set(['osd', 'equ', 'snum']);
const DATA_FILE = /^(.+)\.traineddata(?:\.gz)?$/;

/** Selects the engine; null when OCR is off. Throws `server_error` when a language or the program is not installed. */
export async function selectOcrEngine({ engine, languages, folder }: OcrOptions): Promise<OcrEngine | null> {
  if (engine === 'off') return null;
  const data = await listBundledLanguages(folder);
  const english = new Map([...data].filter(([code]) => code === 'eng'));
  if (engine !== 'bundled') {
    const installed = await listSystemLanguages(folder);
    const selected = languages ?? installed ?? [];
    const isComplete = selected.length > 0 && selected.every((code) => installed?.includes(code));
    if (isComplete) {
      const folderArguments = folder === null ? [] : ['--tessdata-dir', folder];
      return { data: english, systemArguments: [...folderArguments, '-l', selected.join('+')] };
    }
    if (engine === 'system') {
      const missing = selected.filter((code) => !installed?.includes(code));
      throw notInstalled("The system's tesseract", missing, installed ?? []);
    }
  }
  const selected = languages ?? [...data.keys()];
  const missing = selected.filter((code) => !data.has(code));
  if (missing.length > 0) throw notInstalled('OCR', missing, [...data.keys()]);
  return { data: new Map(selected.map((code) => [code, data.get(code) as string])), systemArguments: null };
}

function notInstalled(engine: string, missing: readonly string[], installed: readonly string[]): IngestionError {
  const languages =
    missing.length === 0 ? 'is not installed, or lacks languages' : `lacks the languages ${missing.join(', ')}`;
  return new IngestionError('server_error', `${engine} ${languages}; installed: ${installed.join(', ') || 'none'}`);
}

/** Data files by language: npm packages `@tesseract.js-data/CODE`, then files of the folder, which win. */
async function listBundledLanguages(folder: string | null): Promise<Map<string, string>> {
  const packages = dirname(dirname(createRequire(import.meta.url).resolve('@tesseract.js-data/eng/package.json')));
  const files = new Map<string, string>();
  for (const code of (await readdir(packages)).toSorted()) {
    const path = ['4.0.0_best_int', '4.0.0'].map((name) => join(packages, code, name, `${code}.traineddata.gz`));
    const existing = path.find((one) => existsSync(one));
    if (existing !== undefined) files.set(code, existing);
  }
  for (const name of folder === null ? [] : (await readdir(folder)).toSorted()) {
    const code = DATA_FILE.exec(name)?.[1];
    if (code !== undefined && !NOT_LANGUAGES.has(code)) files.set(code, join(folder as string, name));
  }
  return files;
}

/** Languages of the system's `tesseract`; null when it is not installed. */
async function listSystemLanguages(folder: string | null): Promise<string[] | null> {
  const folderArguments = folder === null ? [] : ['--tessdata-dir', folder];
  try {
    const { stdout } = await promisify(execFile)('tesseract', ['--list-langs', ...folderArguments], {
      timeout: 10_000,
    });
    const [, ...codes] = stdout.trim().split('\n');
    return codes.map((code) => code.trim()).filter((code) => code !== '' && !NOT_LANGUAGES.has(code));
  } catch {
    return null;
  }
}
