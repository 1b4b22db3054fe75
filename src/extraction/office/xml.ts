import { Parser } from 'htmlparser2';
import { tooLarge } from '../limits.ts';

/** Maximum nesting of elements. A text box in a table in a text box has some thirty levels. */
const MAX_DEPTH = 1_000;

/** Callbacks of `readXml`. Names of elements and attributes have no namespace prefix. */
export interface XmlHandlers {
  open(name: string, attributes: Readonly<Record<string, string>>): void;
  close?(name: string): void;
  text?(text: string): void;
}

/**
 * Parses an XML stream. Resolves only the predefined entities and reads malformed documents as far as possible. Returns
 * whether the root element is complete. Throws `too_large` above the maximum nesting.
 */
export async function readXml(stream: AsyncIterable<Uint8Array>, handlers: XmlHandlers): Promise<boolean> {
  let depth = 0;
  let isComplete = false;
  const parser = new Parser(
    {
      onopentag: (name, attributes) => {
        depth += 1;
        if (depth > MAX_DEPTH) throw tooLarge(`its elements are nested more than ${MAX_DEPTH} levels deep`);
        const entries = Object.entries(attributes).map(([key, value]) => [attributeName(key), value]);
        handlers.open(elementName(name), Object.fromEntries(entries));
      },
      onclosetag: (name, isImplied) => {
        depth -= 1;
        isComplete = depth === 0 && !isImplied;
        handlers.close?.(elementName(name));
      },
      ontext: (text) => handlers.text?.(text),
    },
    { xmlMode: true, decodeEntities: true },
  );
  let decoder: InstanceType<typeof TextDecoder> | null = null;
  for await (const bytes of stream) {
    decoder ??= new TextDecoder(bytes[0] === 0xff ? 'utf-16le' : bytes[0] === 0xfe ? 'utf-16be' : 'utf-8');
    parser.write(decoder.decode(bytes, { stream: true }));
  }
  parser.end(decoder?.decode() ?? '');
  return isComplete;
}

function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}

/** Local name of an attribute. Relationship ids keep their prefix: presentations have another attribute `id`. */
function attributeName(name: string): string {
  return name.startsWith('r:') ? name : localName(name);
}

/** Local name of an element. Elements of drawings and formulas keep their prefix: documents use their names too. */
function elementName(name: string): string {
  return /^(?:a|m|svg):/.test(name) ? name : localName(name);
}
