/** Where `bin/chiron` begins. JavaScript, so that with `NODE_COMPILE_CACHE` Node need not load its TypeScript compiler. */
await import('./cli.ts')
