/**
 * Part of installing: starts the service once, on a store of its own that is thrown away, and stops it. The code that
 * Node compiled stays (see main.ts), so that already the first real start is quick. Nothing depends on it.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const patienceMs = 20_000

const folder = mkdtempSync(join(tmpdir(), 'chiron-precompile-'))
const main = fileURLToPath(new URL('main.ts', import.meta.url))
const others = Object.entries(process.env).filter(([name]) => !name.startsWith('CHIRON_'))
const service = spawn(process.execPath, [main, 'serve', '--json'], {
  cwd: folder,
  env: {
    ...Object.fromEntries(others),
    NODE_ENV: 'development',
    CHIRON_PORT: '0',
    CHIRON_DATABASE_URL: `sqlite:${join(folder, 'chiron.db')}`,
  },
  stdio: ['ignore', 'pipe', 'ignore'],
})
const stop = () => service.kill('SIGTERM')
// The last that it says when it starts.
service.stdout.on('data', (text) => String(text).includes('development: mail') && stop())
const patience = setTimeout(stop, patienceMs)
service.on('exit', () => {
  clearTimeout(patience)
  rmSync(folder, { recursive: true, force: true })
})
