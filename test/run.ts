/** `npm test`: types, format and lint, dead code, the portal's build, then every test. Stops at the first kind that fails. */
import { spawnSync } from 'node:child_process'

const node = process.execPath
const steps: [name: string, command: string, ...args: string[]][] = [
  ['types', 'tsc', '-p', '.'],
  ['types of the portal', 'tsc', '-p', 'web'],
  ['format and lint', 'biome', 'check', '--error-on-warnings', '.'],
  ['dead code', 'knip'],
  ['the portal', 'vite', 'build', 'web', '--logLevel', 'warn'],
  ['tests', node, '--test', '--test-global-setup=test/support/setup.ts', ...testFiles()],
]

for (const [name, command, ...args] of steps) {
  process.stdout.write(`\n== ${name}\n`)
  const { status, error } = spawnSync(command, args, { stdio: 'inherit' })
  if (error) throw error
  if (status !== 0) process.exit(status ?? 1)
}

/** Those named on the command line, or all. */
function testFiles(): string[] {
  const named = process.argv.slice(2)
  return named.length > 0 ? named : ['test/**/*.test.ts']
}
