/** How `make.ts` builds the portal and the console. */
import { join } from 'node:path'
import { defineConfig } from 'vite'
import { compressed, firstForm, serviceWorker } from './build.ts'

export default defineConfig({
  root: import.meta.dirname,
  publicDir: false,
  plugins: [firstForm(), serviceWorker(), compressed()],
  build: {
    target: 'es2022',
    // Not under /portal, where the cookie goes, nor among the service's own /assets.
    assetsDir: 'web',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // Each with chunks of its own: nothing of the console reaches those who use the portal.
    rolldownOptions: {
      input: ['index', 'console'].map((name) => join(import.meta.dirname, `${name}.html`)),
    },
  },
})
