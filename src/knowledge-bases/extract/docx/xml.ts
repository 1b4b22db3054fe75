import { Parser } from 'htmlparser2';
import { tooLarge } from '../bounds.ts';

/** Elements in each other. Word stays far below; a text box in a table in a text box has some thirty. */
const MAX_DEPTH = 1_000;

/** What is told of an XML document as it is read. Names and attributes are without their namespace's prefix. */
export interface XmlHandlers {
  open(name: string, attributes: Readonly<Record<string, string>>): void;
  close(name: string): void;
  text(text: string): void;
}

/**
 * Reads an XML document piece by piece, without keeping it. No entity but XML's own is known, and none is fetched. What is not well
 * formed is read as far as it goes. Returns whether its outermost element was there and ended. Throws `too_large` for elements too deep in
 * each other.
 */
export async function readXml(pieces: AsyncIterable<Uint8Array>, handlers: XmlHandlers): Promise<boolean> {
  let depth = 0;
  let isWhole = false;
  const parser = new Parser(
    {
      onopentag: (name, attributes) => {
        depth += 1;
        if (depth > MAX_DEPTH) throw tooLarge(`its elements are nested more than ${MAX_DEPTH} deep`);
        const named = Object.entries(attributes).map(([key, value]) => [localName(key), value]);
        handlers.open(nameOf(name), Object.fromEntries(named));
      },
      onclosetag: (name, isImplied) => {
        depth -= 1;
        isWhole = depth === 0 && !isImplied;
        handlers.close(nameOf(name));
      },
      ontext: (text) => handlers.text(text),
    },
    { xmlMode: true, decodeEntities: true },
  );
  let decoder: InstanceType<typeof TextDecoder> | null = null;
  for await (const piece of pieces) {
    decoder ??= new TextDecoder(piece[0] === 0xff ? 'utf-16le' : piece[0] === 0xfe ? 'utf-16be' : 'utf-8');
    parser.write(decoder.decode(piece, { stream: true }));
  }
  parser.end(decoder?.decode() ?? '');
  return isWhole;
}

function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}

/** Drawings have texts and paragraphs of their own under the same names: they keep their prefix. */
function nameOf(name: string): string {
  return name.startsWith('a:') || name.startsWith('m:') ? name : localName(name);
}
