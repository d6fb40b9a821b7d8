import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { closeSync, constants, openSync, writeSync } from 'node:fs'
import { connect, Socket } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, suite, test } from 'node:test'
import { endProcesses, newFolder, serveChild } from './support/child.ts'
import { atLength } from './support/engines.ts'
import { freshAddress } from './support/fresh.ts'
import { eventually } from './support/wait.ts'

const { O_NONBLOCK, O_RDONLY, O_WRONLY } = constants
const requests = 10_000

let folder: ReturnType<typeof newFolder>
before(() => {
  folder = newFolder()
})
after(() => {
  endProcesses()
  folder.remove()
})

/** A named pipe that nobody reads yet. */
function newPipe() {
  const path = join(folder.path, `pipe-${Math.random()}`)
  execFileSync('mkfifo', [path])
  const reading = openSync(path, O_RDONLY | O_NONBLOCK)
  return { path, reading, writing: openSync(path, O_WRONLY) }
}

/** Pipelines many requests on one connection. Returns how many were answered with 200. */
function ask(port: number, count: number): Promise<number> {
  const one = 'GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n'
  const last = 'GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'
  return new Promise((resolve, reject) => {
    let text = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(one.repeat(count - 1) + last))
    socket.setEncoding('latin1')
    socket.on('data', (chunk) => {
      text += chunk
    })
    socket.on('error', reject)
    socket.on('close', () => resolve(text.split('HTTP/1.1 200 OK').length - 1))
  })
}

async function signIn(url: string): Promise<number> {
  const email = freshAddress('log')
  const post = async (path: string, body: object) => {
    const headers = { 'content-type': 'application/json' }
    const reply = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    return { status: reply.status, json: (await reply.json()) as { sessionId: string; reference: string } }
  }
  await post('/veterinarian/register', { firstname: 'Ada', lastname: 'Marsh', email })
  const { sessionId, reference } = (await post('/veterinarian/send-otp', { email })).json
  const mail = await eventually('the mail', async () => {
    const reply = await fetch(`${url}/mailbox.json?reference=${reference}`)
    return ((await reply.json()) as { mails: { code: number }[] }).mails[0]
  })
  const { status } = await post('/veterinarian/validate-otp', { email, otp_code: mail.code, sessionId })
  return status
}

suite('The log', atLength, () => {
  test('holds nobody up when it is not read, and says how many lines it dropped', async () => {
    const { path, reading, writing } = newPipe()
    const child = await serveChild({ cwd: folder.path, stdout: writing })
    closeSync(writing)
    assert.equal(await ask(child.port, requests), requests)

    const probe = openSync(path, O_WRONLY | O_NONBLOCK)
    assert.throws(() => writeSync(probe, 'x'.repeat(4096)), { code: 'EAGAIN' }, 'the pipe is full')
    closeSync(probe)
    assert.equal(await signIn(child.url), 200)
    assert.equal(await ask(child.port, requests), requests)

    const entries: { msg: string; level: number; dropped?: number; route?: string }[] = []
    const lines = createInterface(new Socket({ fd: reading, readable: true, writable: false }))
    lines.on('line', (line) => entries.push(JSON.parse(line)))
    const told = await eventually('it says so', () => entries.find(({ dropped }) => dropped !== undefined))
    assert.equal(told.level, 40)
    const answered = entries.filter(({ route }) => route === '/health/live').length
    assert.ok(told.dropped! > 0)
    assert.ok(answered > 0 && answered < 2 * requests)
    assert.ok(answered + told.dropped! > 2 * requests)

    assert.equal(await ask(child.port, 10), 10)
    await eventually(
      'it goes on',
      () => entries.at(-1)?.msg === 'request' && entries.indexOf(told) < entries.length - 10,
    )
    child.kill('SIGTERM')
    assert.deepEqual(await child.exited, { code: 0, signal: null })
  })

  test('is no reason not to end', async () => {
    const { writing } = newPipe()
    const child = await serveChild({ cwd: folder.path, stdout: writing })
    assert.equal(await ask(child.port, requests), requests)
    child.kill('SIGTERM')
    assert.deepEqual(await child.exited, { code: 0, signal: null })
  })

  test('may lose its reader', async () => {
    const { reading, writing } = newPipe()
    const child = await serveChild({ cwd: folder.path, stdout: writing })
    closeSync(writing)
    closeSync(reading)
    assert.equal(await ask(child.port, 100), 100)
    assert.equal(await signIn(child.url), 200)
    child.kill('SIGTERM')
    assert.deepEqual(await child.exited, { code: 0, signal: null })
  })
})
