/**
 * `npm run follow`: installs a new Debian 12 and follows the documents for operators on it, word by word, with nothing of this
 * machine but its network. Once with PostgreSQL, whose commands root types, and once with SQLite, whose commands the
 * user of the service types. It takes some minutes, and needs root on Debian.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startReader } from './support/follow.ts'
import { programOf } from './support/install.ts'
import { pages } from './support/shell-blocks.ts'

const release = 'bookworm'
// What every installation of Debian has, and certificates for what stands in for other machines.
const included = '--include=systemd,openssl,ca-certificates'

const print = (text: string) => process.stdout.write(`${text}\n`)
const base = mkdtempSync(join(tmpdir(), 'chiron-debian-'))
try {
  print(`Installing Debian (${release}) …`)
  const debootstrap = programOf('debootstrap')
  const { status, stdout } = spawnSync(debootstrap, ['--variant=minbase', included, release, base], {
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`debootstrap failed: ${stdout}`)
  for (const reader of [
    { as: 'root', database: 'PostgreSQL' },
    { as: 'chiron', database: 'SQLite' },
  ] as const) {
    print(`\nWith ${reader.database}, commands typed by ${reader.as}`)
    const machine = await startReader(reader, base)
    try {
      for (const page of pages)
        await machine.follow(page, { tell: ({ at, text }) => print(`\n${at}\n${text.trimEnd()}`) })
    } finally {
      await machine.stop()
    }
  }
  print('\nEvery shell block works as it stands.')
} catch (error) {
  print(`\n${(error as Error).message}`)
  process.exitCode = 1
} finally {
  rmSync(base, { recursive: true, force: true })
}
