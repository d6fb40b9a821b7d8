/** Somebody who follows the documents word by word, on a machine. */
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { type Machine, type Ran, startMachine } from './machine.ts'
import { type Block, blocksOf, isOfChiron, type Page } from './shell-blocks.ts'

export interface Reader {
  /** Whose shell has the commands of Chiron; everything else is root's. */
  readonly as: 'root' | 'chiron'
  readonly database: 'SQLite' | 'PostgreSQL'
}

export interface Following {
  /** Called after each block. */
  tell?(block: Block): void
  /** Puts the names of an installation in place of those of the page. */
  own?(text: string): string
  /** By default the machine's. */
  readonly database?: Reader['database']
}

export interface SentMail {
  readonly from: string
  readonly to: readonly string[]
  readonly raw: string
}

export interface Followed extends Machine {
  /** What the machine's mail server took. */
  readonly mails: readonly SentMail[]
  /** Runs the shell blocks of a page in their order. Throws at the first one that fails. */
  follow(page: Page, how?: Following): Promise<Map<Block, Ran>>
}

const mailServer = fileURLToPath(new URL('machine/mail.ts', import.meta.url))

export async function startReader({ as, database }: Reader, base?: string): Promise<Followed> {
  const machine = await startMachine(base)
  const folder = mkdtempSync(join(tmpdir(), 'chiron-mail-'))
  const { key, cert } = machine.certificate()
  writeFileSync(join(folder, 'key.pem'), key, { mode: 0o600 })
  writeFileSync(join(folder, 'cert.pem'), cert)
  const server = machine.beside(process.execPath, [
    mailServer,
    join(folder, 'key.pem'),
    join(folder, 'cert.pem'),
  ])
  const mails: SentMail[] = []
  createInterface({ input: server.stdout! }).on('line', (line) => mails.push(JSON.parse(line)))

  return {
    ...machine,
    mails,
    async follow(page, { tell = () => {}, own = (text: string) => text, database: chosen = database } = {}) {
      await machine.run('rm -f /run/session*')
      const ran = new Map<Block, Ran>()
      for (const found of blocksOf(page)) {
        const block = { ...found, text: own(found.text) }
        const isForOther = /^(SQLite|PostgreSQL)$/.test(block.heading) && block.heading !== chosen
        if (block.language !== 'sh' || isForOther) continue
        const result = isOfChiron(block)
          ? await machine.run(block.text, as)
          : await machine.run(inSession(block.text))
        if (result.code !== 0)
          throw new Error(`${block.at} ends with ${result.code}:\n${block.text}\n${result.text}`)
        ran.set(block, result)
        tell(block)
      }
      return ran
    },
    async stop() {
      await endOf(server)
      await machine.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** One shell for a page: variables, folder and umask last from block to block. Files are for their owner alone by default. */
const inSession = (text: string) => `
umask 077
cd /root
if [ -f /run/session ]; then . /run/session; cd "$(cat /run/session-folder)"; fi
set -a
${text}
set +a
(umask 077; { export -p; echo umask $(umask); } > /run/session; pwd > /run/session-folder)
`

function endOf(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve()
    child.once('exit', () => resolve())
    child.kill('SIGKILL')
  })
}
