import { defineConfig } from 'vite';

/** The sources of the rooms are taken as they are, as everywhere. */
export const SOURCES = { conditions: ['source', 'module', 'browser', 'production'] };

export default defineConfig({
  root: import.meta.dirname,
  base: '/dashboard/',
  resolve: SOURCES,
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    target: 'es2024',
    // The strict CSP of the page: nothing inline, no data: addresses, no code of the bundler that needs more.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 600,
    reportCompressedSize: false,
  },
});
