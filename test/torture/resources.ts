/**
 * A disk that is full or fails, file descriptors that run out, and too little memory. The service says 503 where it cannot
 * serve, never acknowledges what it does not keep, and goes on by itself when the trouble is over.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { closeSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { openDb } from '../../src/platform/db/open.ts'
import {
  type ChildOptions,
  main,
  newFolder,
  type ServingChild,
  serveChild,
  startProcess,
} from '../support/child.ts'
import { newFaults } from '../support/faults.ts'
import { childrenOf } from '../support/processes.ts'
import type { Reply } from '../support/service.ts'
import { eventually, pause } from '../support/wait.ts'
import { callsTo } from '../support/wire.ts'
import { checkSound } from './crashes.ts'

const diskMb = 4

interface Disk {
  readonly path: string
  readonly env: Record<string, string>
  fill(): void
  empty(): void
  remove(): void
}

/** A real small one where we may mount it; elsewhere one that says so when it is told to. */
function smallDisk(): Disk {
  const folder = newFolder()
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${diskMb}m`, 'none', folder.path])
  if (mounted.status === 0) {
    const ballast = join(folder.path, 'ballast')
    return {
      path: folder.path,
      env: {},
      fill: () => fill(ballast),
      empty: () => rmSync(ballast),
      remove() {
        spawnSync('umount', ['--lazy', folder.path])
        folder.remove()
      },
    }
  }
  const faults = newFaults(folder.path)
  return {
    path: folder.path,
    env: faults.begin(),
    fill: () => faults.failWrites('ENOSPC'),
    empty: () => faults.failWrites(null),
    remove() {
      faults.remove()
      folder.remove()
    },
  }
}

function fill(file: string): void {
  const descriptor = openSync(file, 'a')
  try {
    for (const size of [65_536, 4_096, 1])
      try {
        for (;;) writeSync(descriptor, Buffer.alloc(size))
      } catch (error) {
        assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC')
      }
  } finally {
    closeSync(descriptor)
  }
}

const settings = (path: string) => ({
  CHIRON_DATABASE_URL: `sqlite:${join(path, 'chiron.db')}`,
  CHIRON_SECRET: 'resources-7c1e90b2d45f4e8a'.repeat(2),
  CHIRON_LIMITS: 'off',
})

class Registrations {
  readonly acknowledged: string[] = []
  refused = 0
  #asked = 0

  /** 202 or 503, nothing else. */
  async ask(target: Pick<ServingChild, 'post'>): Promise<Reply> {
    const email = `r${this.#asked++}@resources.example`
    // What is not known is ignored, and needs memory all the same.
    const person = { firstname: 'Ada', lastname: 'Marsh', email, more: 'x'.repeat(10_000) }
    const reply = await target.post('/veterinarian/register', person)
    if (reply.status === 202) this.acknowledged.push(email)
    else {
      assert.equal(reply.status, 503, reply.text)
      assert.equal(reply.json.code, 'unavailable')
      assert.ok(Number(reply.headers.get('retry-after')) > 0)
      this.refused++
    }
    return reply
  }

  async askUntil(target: Pick<ServingChild, 'post'>, status: 202 | 503): Promise<void> {
    await eventually(`an answer with ${status}`, async () => (await this.ask(target)).status === status)
  }

  /** What was acknowledged is there. */
  async check(url: string): Promise<void> {
    checkSound(url.slice('sqlite:'.length))
    const db = openDb(url)
    try {
      const rows = await db.all<{ email: string }>(
        'select email from person union select email from registration',
      )
      const known = new Set(rows.map(({ email }) => email))
      for (const email of this.acknowledged) assert.ok(known.has(email), `${email} was acknowledged`)
    } finally {
      await db.close()
    }
  }
}

async function isNotReady(target: Pick<ServingChild, 'request'>): Promise<void> {
  const { status, json } = await target.request('/health/ready')
  assert.deepEqual([status, json.detail], [503, 'The store does not take writes.'])
}

export interface DiskReport {
  readonly faults: number
  readonly acknowledged: number
  readonly refused: number
}

/** The log is on the full disk, too. */
export async function fullDisk(): Promise<DiskReport> {
  const disk = smallDisk()
  const log = join(disk.path, 'log')
  const env = { ...settings(disk.path), ...disk.env }
  const stdout = openSync(log, 'a')
  const registrations = new Registrations()
  let child: ServingChild | undefined
  try {
    child = await serveChild({ env, stdout })
    for (let round = 0; round < 2; round++) {
      await registrations.askUntil(child, 202)
      disk.fill()
      await registrations.askUntil(child, 503)
      await isNotReady(child)
      for (let i = 0; i < 20; i++) await registrations.ask(child)
      assert.equal((await child.request('/health/live')).status, 200)
      disk.empty()
      await registrations.askUntil(child, 202)
      await eventually('it is ready', async () => (await child!.request('/health/ready')).status === 200)
      assert.equal((await registrations.ask(child)).status, 202)
      const mark = `/after-${round}`
      await child.request(mark)
      await eventually('the log goes on', () => readFileSync(log, 'utf8').includes('"status":404'))
    }
    await child.end('SIGKILL')
    await registrations.check(env.CHIRON_DATABASE_URL)
    return { faults: 2, acknowledged: registrations.acknowledged.length, refused: registrations.refused }
  } finally {
    await child?.end('SIGKILL')
    closeSync(stdout)
    disk.remove()
  }
}

/** Syncs and writes that fail. The last kill is a power cut: what was acknowledged after a fault is there, too. */
export async function failingDisk(): Promise<DiskReport> {
  const folder = newFolder()
  const faults = newFaults(folder.path)
  const env = { ...settings(folder.path), ...faults.begin() }
  const registrations = new Registrations()
  const wrongs: ((on: boolean) => void)[] = [
    (on) => faults.failSyncs(on ? 'EIO' : null),
    (on) => faults.failWrites(on ? 'EIO' : null),
    (on) => faults.failWrites(on ? 'ENOSPC' : null),
  ]
  let child: ServingChild | undefined
  try {
    child = await serveChild({ env })
    for (const wrong of wrongs) {
      await registrations.askUntil(child, 202)
      const before = child.output.out.length
      wrong(true)
      const replies = await Promise.all(Array.from({ length: 20 }, () => registrations.ask(child!)))
      assert.ok(replies.every(({ status }) => status === 503))
      await isNotReady(child)
      assert.equal((await child.request('/health/live')).status, 200)
      const said = /"level":40.*"reason":"(disk I\/O error|database or disk is full)"/
      await eventually('a line in the log', () => said.test(child!.output.out.slice(before)))
      wrong(false)
      await registrations.askUntil(child, 202)
    }
    await child.end('SIGKILL')
    faults.losePower()
    await registrations.check(env.CHIRON_DATABASE_URL)
    return {
      faults: wrongs.length,
      acknowledged: registrations.acknowledged.length,
      refused: registrations.refused,
    }
  } finally {
    await child?.end('SIGKILL')
    faults.remove()
    folder.remove()
  }
}

export interface DescriptorReport {
  readonly connections: number
  readonly acknowledged: number
}

/** More connections than the process may have open. */
export async function noDescriptors(workers: 1 | 2): Promise<DescriptorReport> {
  const folder = newFolder()
  const env = { ...settings(folder.path), CHIRON_WORKERS: String(workers) }
  const registrations = new Registrations()
  const sockets: Socket[] = []
  let child: ServingChild | undefined
  try {
    child = await serveChild({ env }, withLimit(`ulimit -n ${descriptorsMax}`))
    let ended = false
    child.exited.then(() => {
      ended = true
    })
    for (let round = 0; round < 2; round++) {
      for (let i = 0; i < 2 * descriptorsMax; i++) {
        const socket = connect(child.port, '127.0.0.1')
        socket.on('error', () => {})
        sockets.push(socket)
      }
      // Nobody brings it down by trying, and nobody is kept waiting: one is answered or cut off.
      const tries = Array.from({ length: 10 }, () => registrations.ask(callsTo(child!.url)).catch(() => null))
      let settled = false
      const tried = Promise.all(tries).then(() => {
        settled = true
      })
      await Promise.race([tried, pause(500)])
      assert.ok(!ended, `it ended: ${child.output.out}${child.output.err}`)
      for (const socket of sockets.splice(0)) socket.destroy()
      await eventually('an end of all tries', () => settled)
      await eventually(
        'it serves again',
        async () => (await registrations.ask(callsTo(child!.url)).catch(() => null))?.status === 202,
      )
    }
    const said = /too many connections for the open-file limit/
    // With two workers, the primary may run out first.
    if (workers === 1) await eventually('a line in the log', () => said.test(child!.output.out))
    assert.doesNotMatch(child.output.out, /a worker ended/)
    await child.end('SIGKILL')
    await registrations.check(env.CHIRON_DATABASE_URL)
    return { connections: 4 * descriptorsMax, acknowledged: registrations.acknowledged.length }
  } finally {
    for (const socket of sockets) socket.destroy()
    await child?.end('SIGKILL')
    folder.remove()
  }
}

const descriptorsMax = 80

/** Starts a service from a shell that has set a limit. */
const withLimit = (limit: string) => (args: string[], options: ChildOptions) =>
  startProcess('sh', ['-c', `${limit} && exec "$0" "$@"`, process.execPath, main, ...args], options)

/** One of two workers gets no more memory: it dies, another takes its place, and the service goes on meanwhile. */
export async function noMemory(): Promise<{ workers: number; acknowledged: number }> {
  const folder = newFolder()
  const env = { ...settings(folder.path), CHIRON_WORKERS: '2' }
  const registrations = new Registrations()
  let child: ServingChild | undefined
  try {
    child = await serveChild({ env })
    const [first] = childrenOf(child.pid)
    // Less than it has: whatever it asks for next is refused.
    const limited = spawnSync('prlimit', ['--pid', String(first), '--as=1000000', '--data=1000000'])
    assert.equal(limited.status, 0, String(limited.stderr))
    await eventually('the worker is gone', async () => {
      // Connections of the dying worker are cut; one that was just being passed to it is never answered.
      const many = Array.from({ length: 100 }, () => registrations.ask(callsTo(child!.url)).catch(() => {}))
      await Promise.race([Promise.all(many), pause(2_000)])
      return !childrenOf(child!.pid).includes(first!)
    })
    const answered = () =>
      eventually('an answer', async () => {
        const ask = registrations.ask(callsTo(child!.url)).catch(() => undefined)
        const reply = await Promise.race([ask, pause(2_000)])
        return reply?.status === 202
      })
    await answered()
    await eventually('another one listens', () => child!.output.out.split('listening at').length > 3)
    assert.match(child.output.out, /a worker ended; starting another/)
    await answered()
    await child.end('SIGKILL')
    await registrations.check(env.CHIRON_DATABASE_URL)
    return { workers: 1, acknowledged: registrations.acknowledged.length }
  } finally {
    await child?.end('SIGKILL')
    folder.remove()
  }
}
