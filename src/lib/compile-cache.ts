import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

/** Keeps compiled code between starts. Whatever is to be kept is imported afterwards. */
export function keepCompiledCode(): void {
  enableCompileCache(fileURLToPath(new URL('../../node_modules/.cache/chiron', import.meta.url)))
}
