import { invalidValue, missingField } from '../errors.ts';
import type { InputPart } from './item-schema.ts';

/** Media types of texts besides `text/*`. */
const TEXT_TYPES = new Set(['json', 'jsonl', 'x-ndjson', 'xml', 'yaml', 'x-yaml', 'toml', 'javascript', 'sql']);
const DATA_URL = /^data:([\w.+-]+)\/([\w.+-]+)[^,]*;base64,/;

/**
 * Returns the text of an `input_file`, after its name. Throws 400 naming the field for files that are not texts, and
 * for those that are named by an id or an address: knowledge bases read documents.
 */
export function readFilePart(part: InputPart, path: string): string {
  for (const field of ['file_id', 'file_url'])
    if ((part as Record<string, unknown>)[field] != null)
      throw invalidValue(`${path}.${field}`, 'is not supported: send a text file as file_data');
  const { filename, file_data: data } = part;
  if (data == null) throw missingField(`${path}.file_data`);
  const [head, type, subtype = ''] = DATA_URL.exec(data) ?? [];
  if (head === undefined || !(type === 'text' || TEXT_TYPES.has(subtype)))
    throw invalidValue(
      `${path}.file_data`,
      'must be a data URL of a text file in base64; add others to a knowledge base',
    );
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(data.slice(head.length), 'base64'));
    return filename == null ? text : `${filename}\n\n${text}`;
  } catch {
    throw invalidValue(`${path}.file_data`, 'must be UTF-8');
  }
}
