/** Fetches the newest set from a folder of an SFTP server, whose key must be one that the settings name. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { basename, join, posix } from 'node:path'
import Client from 'ssh2-sftp-client'
import { reasonOf } from '../../../platform/lib/reason.ts'
import type { SftpSource } from '../source.ts'
import { type Arrival, FetchError, type Patience, patiently, tooLarge, type Wanted } from './arrival.ts'
import { changedMeanwhile, type Entry, entryOf, newestOf } from './newest.ts'

export function takeFromSftp(source: SftpSource, wanted: Wanted): Promise<Arrival | null> {
  return patiently(wanted.limits, whyNot, async (patience) => {
    const socket = connect({ host: source.host, port: source.port, noDelay: true })
    // The client's own `end` waits for the server.
    patience.signal.addEventListener('abort', () => socket.destroy())
    socket.on('error', () => {})
    try {
      await patience.for(once(socket, 'connect'))
      const client = await signIn(source, socket, patience)
      return await takeNewest(source, client, wanted, patience)
    } finally {
      socket.destroy()
    }
  })
}

async function signIn(source: SftpSource, socket: Socket, patience: Patience): Promise<Client> {
  const { host, user, password, keyFile, hostKeys } = source
  const client = new Client('chiron', { error() {}, end() {}, close() {} })
  let shown: string | null = null
  try {
    await patience.for(
      client.connect({
        sock: socket,
        host,
        username: user,
        ...(password !== null && { password }),
        ...(keyFile !== null && { privateKey: readKey(keyFile) }),
        hostVerifier(key: Buffer) {
          shown = `SHA256:${createHash('sha256').update(key).digest('base64').replace(/=+$/, '')}`
          return hostKeys.includes(shown)
        },
        // The patience ends it.
        readyTimeout: 0,
      }),
    )
    return client
  } catch (error) {
    if (shown !== null && !hostKeys.includes(shown)) throw otherKey(shown, hostKeys)
    throw error
  }
}

function readKey(file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    throw new FetchError(`CHIRON_ROSTER_KEY_FILE cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
}

function otherKey(shown: string, hostKeys: readonly string[]): FetchError {
  if (hostKeys.length === 0)
    return new FetchError(
      `CHIRON_ROSTER_HOST_KEY is not set. The server shows the key ${shown}: compare it with the one that the server’s owner gives you, then set CHIRON_ROSTER_HOST_KEY=${shown}`,
    )
  return new FetchError(
    `the server's key has changed, so nothing was sent to it. It shows ${shown}, and CHIRON_ROSTER_HOST_KEY has ${hostKeys.join(', ')}. Ask the owner of the server whether the new one is theirs before you set it`,
  )
}

async function takeNewest(
  { path }: SftpSource,
  client: Client,
  wanted: Wanted,
  patience: Patience,
): Promise<Arrival | null> {
  const { isFile } = await patience.for(client.stat(path))
  const directory = isFile ? posix.dirname(path) : path
  const entryAt = async (name: string) => {
    const one = await patience.for(client.stat(posix.join(directory, name)))
    return one.isFile ? [entryOf(name, one.size, one.modifyTime)] : []
  }
  const entries = async () => {
    if (isFile) return entryAt(posix.basename(path))
    const found: Entry[] = []
    for (const { type, name, size, modifyTime } of await patience.for(client.list(directory))) {
      if (type === 'd' || !/\.(zip|csv)$/i.test(name)) continue
      // Of a link, the list has the size of the link.
      found.push(...(type === 'l' ? await entryAt(name) : [entryOf(name, size, modifyTime)]))
    }
    return found
  }
  const newest = await newestOf(entries, wanted)
  if (newest === null) return null
  const { zip, files, mark, writtenAt } = newest
  const { bytesMax } = wanted.limits
  if (files.reduce((sum, { bytes }) => sum + bytes, 0) > bytesMax) throw tooLarge(bytesMax)
  const target = join(wanted.folder, 'set')
  mkdirSync(target)
  for (const { name, bytes } of files) {
    const stream = client.createReadStream(posix.join(directory, name))
    if ((await patience.save(stream, join(target, name))) !== bytes) throw changedMeanwhile()
  }
  await newest.verify()
  return {
    path: zip === null ? target : join(target, zip),
    name: zip ?? basename(posix.resolve('/', directory)),
    ...{ mark, writtenAt },
    async verify() {},
  }
}

function whyNot(error: unknown): string {
  const { message = '', code } = error as { message?: string; code?: unknown }
  if (/authentication/i.test(message)) return 'the server refuses the user, password or key of the settings'
  if (/privateKey|private key|passphrase/i.test(message))
    return 'CHIRON_ROSTER_KEY_FILE must name a private key without a passphrase'
  if (code === 'ENOENT' || code === 2 || /no such file/i.test(message))
    return 'there is no such file or folder on the server'
  if (code === 3 || /permission denied/i.test(message))
    return 'the server does not let this user read the file or folder'
  if (/unexpected (end|close)|end of stream|not connected|no response/i.test(message))
    return 'the connection was cut; try again'
  return reasonOf(error)
}
