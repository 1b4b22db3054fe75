import { describe } from 'node:test';

/**
 * Makes a suite of each test file: a URL by name. Hooks outside of suites then belong to their file.
 */
export function describeFiles(urls) {
  for (const [name, url] of Object.entries(urls)) describe(name, () => import(url));
}
