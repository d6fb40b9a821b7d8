/** Where the thread begins. Each job has a new one; with compiled code it starts in less than half the time. */
import { keepCompiledCode } from '../lib/compile-cache.ts'

keepCompiledCode()
await import('./errand.ts')
