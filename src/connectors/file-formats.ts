/** Extensions of the formats that can be extracted. Other objects of a bucket or a drive are not listed. */
const EXTENSIONS: ReadonlySet<string> = new Set([
  ...[
    'csv',
    'docx',
    'htm',
    'html',
    'jpeg',
    'jpg',
    'jsonl',
    'markdown',
    'md',
    'ndjson',
    'odp',
    'ods',
    'pdf',
    'png',
    'pptx',
    'text',
    'tif',
    'tiff',
    'tsv',
    'txt',
    'webp',
    'xhtml',
    'xlsx',
  ],
]);

/** Whether the file name has an extension of a supported format. */
export function isSupportedFile(name: string): boolean {
  return EXTENSIONS.has(/\.([^./\\]+)$/.exec(name.toLowerCase())?.[1] ?? '');
}
