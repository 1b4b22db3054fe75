/** Extensions of the formats that can be extracted. Other objects of a bucket or a drive are not listed. */
const EXTENSIONS: ReadonlySet<string> = new Set([
  ...[
    'csv',
    'docx',
    'eml',
    'epub',
    'htm',
    'html',
    'jpeg',
    'jpg',
    'json',
    'jsonl',
    'markdown',
    'md',
    'msg',
    'ndjson',
    'odp',
    'ods',
    'odt',
    'pdf',
    'png',
    'pptx',
    'rtf',
    'text',
    'tif',
    'tiff',
    'tsv',
    'txt',
    'webp',
    'xhtml',
    'xlsx',
    'zip',
  ],
]);

/** Whether the file name has an extension of a supported format. */
export function isSupportedFile(name: string): boolean {
  return EXTENSIONS.has(/\.([^./\\]+)$/.exec(name.toLowerCase())?.[1] ?? '');
}
