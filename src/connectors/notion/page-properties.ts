import { type NotionPage, type Property, plainText } from './notion-api.ts';

/** Returns the title of a page; every page has one property of the type `title`. */
export function pageTitle({ properties }: NotionPage): string {
  const title = Object.values(properties).find(({ type }) => type === 'title');
  return plainText(title?.['title']).replaceAll(/\s+/g, ' ').trim() || 'Untitled';
}

/** Converts the properties of a page to metadata. Relations, files and rollups are left out. */
export function propertyMetadata({ properties }: NotionPage): Record<string, unknown> {
  const entries = Object.entries(properties).map(([name, property]) => [name, propertyValue(property)] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== null && value !== undefined && value !== ''));
}

function propertyValue(property: Property): unknown {
  const value = property[property.type];
  switch (property.type) {
    case 'rich_text':
      return plainText(value);
    case 'number':
    case 'checkbox':
    case 'url':
    case 'email':
    case 'phone_number':
    case 'created_time':
    case 'last_edited_time':
      return value;
    case 'select':
    case 'status':
    case 'created_by':
    case 'last_edited_by':
      return readName(value);
    case 'multi_select':
    case 'people':
      return Array.isArray(value) ? value.map(readName).filter((name) => name !== null) : null;
    case 'date':
      return (Object(value) as { start?: string }).start ?? null;
    case 'unique_id': {
      const { prefix, number } = Object(value) as { prefix?: string | null; number?: number };
      return number === undefined ? null : `${prefix ? `${prefix}-` : ''}${number}`;
    }
    case 'formula': {
      const formula = Object(value) as Property;
      return formula.type === 'date' ? propertyValue(formula) : (formula[formula.type] ?? null);
    }
    default:
      return null;
  }
}

function readName(value: unknown): string | null {
  return (Object(value) as { name?: string }).name ?? null;
}
