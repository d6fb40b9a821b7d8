/** The service as operators run it: `serve` in a process of its own, in an empty folder, on a real clock. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { freePort } from './postgres.ts'
import type { Reply, RequestOptions } from './service.ts'
import type { MailServer } from './smtp.ts'

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

export interface OwnProcess {
  request(path: string, options?: RequestOptions): Promise<Reply>
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Reply>
  /** Ends it at once, without a chance to tidy up. */
  kill(): Promise<void>
  stop(): Promise<void>
}

/** A command of ours, with these settings and no others. */
export function spawnChiron(args: string[], env: Record<string, string>): ChildProcess {
  const cwd = mkdtempSync(join(tmpdir(), 'chiron-process-'))
  const child = spawn(process.execPath, [main, ...args], {
    cwd,
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  child.once('exit', () => rmSync(cwd, { recursive: true, force: true }))
  return child
}

export async function startProcess(options: {
  databaseUrl: string
  mail: MailServer
  workers?: number
  env?: Record<string, string>
}): Promise<OwnProcess> {
  const port = await freePort()
  const workers = options.workers ?? 1
  const child = spawnChiron(['serve'], {
    CHIRON_PORT: String(port),
    CHIRON_PUBLIC_URL: 'http://chiron.localhost',
    CHIRON_DATABASE_URL: options.databaseUrl,
    CHIRON_SECRET: 'a secret for tests that is long enough',
    CHIRON_SMTP_URL: options.mail.url,
    CHIRON_TRUSTED_PROXIES: '127.0.0.1',
    CHIRON_WORKERS: String(workers),
    ...options.env,
  })
  await listening(child, workers)
  const url = `http://127.0.0.1:${port}`

  const request: OwnProcess['request'] = async (path, { method, body, token, headers } = {}) => {
    const reply = await fetch(`${url}${path}`, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: {
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await reply.text()
    return { status: reply.status, headers: reply.headers, text, json: text ? JSON.parse(text) : undefined }
  }

  const end = async (signal: 'SIGKILL' | 'SIGTERM') => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill(signal)
    await ended
  }
  return {
    request,
    post: (path, body, headers) => request(path, { body, ...(headers && { headers }) }),
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
  }
}

/** Waits until each worker says that it listens. */
function listening(child: ChildProcess, workers: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const said: string[] = []
    let ready = 0
    for (const stream of [child.stdout!, child.stderr!]) {
      createInterface(stream).on('line', (line) => {
        if (ready < workers) said.push(line)
        if (line.includes('listening at') && ++ready === workers) resolve()
      })
    }
    child.once('exit', (code) => reject(new Error(`serve ended with ${code}: ${said.join('\n')}`)))
  })
}
