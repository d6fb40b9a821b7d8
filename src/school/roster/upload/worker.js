/** Where the child process begins. Each job has a new one. JavaScript, for the same reason as main.js. */
await import('./worker.ts')
