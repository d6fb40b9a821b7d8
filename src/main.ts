#!/usr/bin/env node
/** Caches compiled code between starts, which saves a fifth of the processor time of each. */
import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/chiron', import.meta.url)))
await import('./cli.ts')
