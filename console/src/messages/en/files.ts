export const files = {
  title: 'Files',
  intro: 'Uploaded files of this organization.',
  purpose: 'Purpose',
  empty: 'No files yet.',
  deleteText: 'Documents that were made from this file stay until their data source is deleted.',
  upload: 'Upload file',
  file: 'File',
  purposeHint: 'Batches and fine-tuning need a .jsonl file.',
  search: 'Search files by name',
  download: 'Download',
};
