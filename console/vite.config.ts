import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** `npm run dev -w console` serves the console with hot reload and sends API requests to a running service. */
export default defineConfig({
  plugins: [react()],
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2023',
    // The Content-Security-Policy allows no data: scripts, and few files are small enough to gain from inlining.
    assetsInlineLimit: 0,
    // One file for all modules of the first load: as 25 files, they had 6 % more compressed bytes.
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: 'entry', tags: ['$initial'] }] } } },
    chunkSizeWarningLimit: 1000,
    modulePreload: { polyfill: false },
  },
  server: { proxy: { '/v1': process.env['QUIRE_URL'] ?? 'http://127.0.0.1:8080' } },
});
