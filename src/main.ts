#!/usr/bin/env node
/** Compiled code is kept between starts, which saves a fifth of the processor time of each. */
import { keepCompiledCode } from './lib/compile-cache.ts'

keepCompiledCode()
await import('./cli.ts')
