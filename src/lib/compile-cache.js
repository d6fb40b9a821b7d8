/**
 * Keeps compiled code between starts. Whatever is to be kept is imported afterwards. What comes before is JavaScript, as
 * this file is, so that Node need not load its TypeScript compiler.
 */
import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

export function keepCompiledCode() {
  enableCompileCache(fileURLToPath(new URL('../../node_modules/.cache/chiron', import.meta.url)))
}
