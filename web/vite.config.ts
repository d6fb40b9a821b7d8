/** `npm run build`: from web/ to web/dist/, which the service serves. `npm ci` does it by itself. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { defineConfig, type Plugin } from 'vite'

export default defineConfig({
  root: import.meta.dirname,
  publicDir: false,
  plugins: [compressed()],
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

/** Compressed once, here, instead of for every reader. */
function compressed(): Plugin {
  let folder = ''
  return {
    name: 'compressed',
    apply: 'build',
    configResolved: (config) => {
      folder = join(config.root, config.build.outDir, config.build.assetsDir)
    },
    closeBundle() {
      for (const name of readdirSync(folder)) {
        const path = join(folder, name)
        const content = readFileSync(path)
        writeFileSync(`${path}.br`, brotliCompressSync(content))
        writeFileSync(`${path}.gz`, gzipSync(content, { level: 9 }))
      }
    },
  }
}
