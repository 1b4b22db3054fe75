export const batches = {
  title: 'Batches',
  intro: 'Up to 50,000 requests in one file, processed in the background at half the price.',
  create: 'Create batch',
  file: 'Input file (JSON Lines)',
  endpoint: 'Endpoint',
  progress: 'Progress',
  empty: 'No batches yet.',
  output: 'Results',
  errors: 'Errors',
  cancelBatch: 'Cancel',
};
