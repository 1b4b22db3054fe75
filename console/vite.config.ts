import { defineConfig } from 'vite';
import { usedStyles } from './used-styles.js';

/** Modules of few hundred bytes that some pages share. */
const SMALL =
  /\/answers\/(?:answer|response)-events|\/passages\/open-passage|\/ui\/(?:send-form|focus-on-mount)|\/use-window-event\//;

/**
 * Modules that share a file, because each file costs a request with its headers and compresses by itself. A group takes
 * the imports of its modules too, except those of a group of higher priority.
 */
const FILE_GROUPS = [
  { name: 'entry', tags: ['$initial' as const], priority: 3 },
  { name: 'shared', minShareCount: 8, priority: 2 },
  { name: 'small', test: SMALL, priority: 1 },
];

/** `npm run dev -w console` serves the console, reloads it after changes, and sends API requests to a running service. */
export default defineConfig({
  plugins: [usedStyles()],
  resolve: {
    alias: [
      { find: /^react(-dom)?$/, replacement: new URL('react.js', import.meta.url).pathname },
      { find: 'react-dom/client', replacement: 'preact/compat/client' },
      { find: /^react\/(jsx-(?:dev-)?runtime)$/, replacement: 'preact/$1' },
    ],
  },
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2023',
    // The Content-Security-Policy allows no data: scripts, and few files are small enough to gain from inlining.
    assetsInlineLimit: 0,
    rolldownOptions: {
      output: { codeSplitting: { groups: FILE_GROUPS } },
      // Libraries mark their files with "use client", which means nothing here.
      onwarn: (warning, warn) => warning.code !== 'MODULE_LEVEL_DIRECTIVE' && warn(warning),
    },
    chunkSizeWarningLimit: 1000,
    modulePreload: { polyfill: false },
  },
  server: { proxy: { '/v1': process.env['QUIRE_URL'] ?? 'http://127.0.0.1:8080' } },
});
