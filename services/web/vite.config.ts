import { defineConfig } from 'vite'

/** The web app as static files below `/app`, each with a digest in its name. */
export default defineConfig({
  base: '/app/',
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2024',
    // Nothing inline: the policy of the page allows files of its own origin alone.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
})
