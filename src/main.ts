#!/usr/bin/env node
/** Keeps compiled code between starts, which saves each a fifth of its processor time; then the command line. */
import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/chiron', import.meta.url)))
await import('./cli.ts')
