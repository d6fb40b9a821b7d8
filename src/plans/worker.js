/** Where the thread begins. Each job has a new one. */
import { keepCompiledCode } from '../lib/compile-cache.js'

keepCompiledCode()
await import('./errand.ts')
