/**
 * Time and memory of `chiron move` from SQLite to PostgreSQL and back:
 *
 *   CHIRON_SECRET=… node bench/moves.ts FILE
 *
 * FILE is an SQLite store, such as bench/accounts.ts fills; it is left as it is.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { table } from './figures.ts'
import { postgresStores } from './stores.ts'

const [file] = process.argv.slice(2)
if (file === undefined) throw new Error('name the file of an SQLite store')
const command = fileURLToPath(new URL('../bin/chiron', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'chiron-moves-'))
const stores = await postgresStores()

function move(title: string, from: string, to: string): string[] {
  const started = performance.now()
  // GNU time reports the peak memory, in kB, as the last line.
  const done = spawnSync('/usr/bin/time', ['-f', '%M %U %S', command, 'move', '--to', to, '--json'], {
    env: { ...process.env, CHIRON_DATABASE_URL: from },
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  })
  if (done.status !== 0) throw new Error(`${title}: ${done.stderr}`)
  const seconds = (performance.now() - started) / 1000
  const [kb, user, system] = done.stderr.trim().split('\n').at(-1)!.split(' ').map(Number)
  const { rows } = JSON.parse(done.stdout.trim().split('\n').at(-1)!)
  return [
    title,
    rows.toLocaleString('en'),
    `${(user! + system!).toFixed(0)} s`,
    `${seconds.toFixed(0)} s`,
    Math.round(rows / seconds).toLocaleString('en'),
    `${Math.round(kb! / 1024)} MiB`,
  ]
}

try {
  await stores.create('moved')
  const rows = [['move', 'rows', 'processor', 'clock', 'rows a second', 'memory']]
  rows.push(move('SQLite to PostgreSQL', `sqlite:${file}`, stores.url('moved')))
  rows.push(move('PostgreSQL to SQLite', stores.url('moved'), `sqlite:${join(folder, 'back.db')}`))
  process.stdout.write(table(rows))
} finally {
  await stores.close()
  rmSync(folder, { recursive: true, force: true })
}
