/** A real SSH server with a folder in memory, which can hang, lie and change its key as a test tells it to. */
import { createHash } from 'node:crypto'
import { type AddressInfo, createServer } from 'node:net'
import ssh2, { type AuthContext, type Connection, type SFTPWrapper } from 'ssh2'

const { Server, utils } = ssh2
const { STATUS_CODE: codes } = utils.sftp

export interface RemoteFile {
  readonly content: Buffer
  /** Seconds since 1970. */
  readonly changedAt: number
}

export interface SftpServer {
  readonly port: number
  readonly fingerprint: string
  /** By name; all lie in /out. */
  readonly files: Map<string, RemoteFile>
  /** Every way in which somebody tried to sign in. */
  readonly attempts: string[]
  /** What is never answered. */
  hangs: 'nothing' | 'sign-in' | 'list' | 'read'
  /** Called before each read. */
  onRead: () => void
  close(): Promise<void>
}

/** Some keys that ssh2 makes it cannot read. */
export function newKey(): ReturnType<typeof utils.generateKeyPairSync> {
  for (;;) {
    const pair = utils.generateKeyPairSync('ed25519')
    if (!(utils.parseKey(pair.private) instanceof Error)) return pair
  }
}

export function fingerprintOf(publicKey: string): string {
  const parsed = utils.parseKey(publicKey)
  if (parsed instanceof Error) throw parsed
  return `SHA256:${createHash('sha256').update(parsed.getPublicSSH()).digest('base64').replace(/=+$/, '')}`
}

const directory = 0o040755
const regular = 0o100644

export async function startSftp({
  password = 'open sesame',
  publicKey = null as string | null,
  hostKey = newKey(),
} = {}): Promise<SftpServer> {
  const files = new Map<string, RemoteFile>()
  const attempts: string[] = []
  const connections = new Set<Connection>()
  const mayEnter = (attempt: AuthContext) => {
    attempts.push(attempt.method)
    if (attempt.method === 'password') return attempt.password === password
    if (attempt.method !== 'publickey' || publicKey === null) return false
    const known = utils.parseKey(publicKey)
    if (known instanceof Error || !attempt.key.data.equals(known.getPublicSSH())) return false
    if (!attempt.signature || !attempt.blob) return true
    return known.verify(attempt.blob, attempt.signature, attempt.hashAlgo) === true
  }
  const server = new Server({ hostKeys: [hostKey.private] }, (connection) => {
    connections.add(connection)
    connection.on('error', () => {})
    connection.on('close', () => connections.delete(connection))
    connection.on('authentication', (attempt) => {
      if (sftp.hangs === 'sign-in') return
      if (mayEnter(attempt)) attempt.accept()
      else attempt.reject(['password', 'publickey'])
    })
    connection.on('ready', () => {
      connection.on('session', (accept) => {
        accept().on('sftp', (acceptSftp) => serve(acceptSftp(), sftp))
      })
    })
  })
  // Without it, every answer would wait for the one before to be acknowledged.
  const sockets = createServer({ noDelay: true }, (socket) => server.injectSocket(socket))
  await new Promise<void>((resolve) => sockets.listen(0, '127.0.0.1', resolve))
  const sftp: SftpServer = {
    port: (sockets.address() as AddressInfo).port,
    fingerprint: fingerprintOf(hostKey.public),
    files,
    attempts,
    hangs: 'nothing',
    onRead() {},
    close: () =>
      new Promise((resolve) => {
        for (const connection of connections) connection.end()
        sockets.close(() => resolve())
      }),
  }
  return sftp
}

function serve(stream: SFTPWrapper, sftp: SftpServer): void {
  const handles = new Map<string, { name: string; isListed: boolean }>()
  let opened = 0
  const handleOf = (name: string) => {
    const handle = Buffer.from(String(opened++))
    handles.set(handle.toString(), { name, isListed: false })
    return handle
  }
  const nameIn = (path: string) => /^\/out\/(.+)$/.exec(path)?.[1]
  const attrsOf = (name: string) => {
    const { content, changedAt } = sftp.files.get(name)!
    return { mode: regular, uid: 0, gid: 0, size: content.length, atime: changedAt, mtime: changedAt }
  }
  const stat = (id: number, path: string) => {
    const name = nameIn(path)
    if (path === '/out') stream.attrs(id, { mode: directory, uid: 0, gid: 0, size: 0, atime: 0, mtime: 0 })
    else if (name !== undefined && sftp.files.has(name)) stream.attrs(id, attrsOf(name))
    else stream.status(id, codes.NO_SUCH_FILE)
  }
  stream.on('STAT', stat)
  stream.on('LSTAT', stat)
  stream.on('REALPATH', (id, path) => {
    stream.name(id, [
      { filename: path, longname: path, attrs: { mode: 0, uid: 0, gid: 0, size: 0, atime: 0, mtime: 0 } },
    ])
  })
  stream.on('OPENDIR', (id) => void stream.handle(id, handleOf('')))
  stream.on('READDIR', (id, handle) => {
    if (sftp.hangs === 'list') return
    const open = handles.get(handle.toString())!
    if (open.isListed) return void stream.status(id, codes.EOF)
    open.isListed = true
    stream.name(
      id,
      [...sftp.files.keys()].map((filename) => ({
        filename,
        longname: `-rw-r--r-- 1 root root 0 Jan 1 00:00 ${filename}`,
        attrs: attrsOf(filename),
      })),
    )
  })
  stream.on('OPEN', (id, path) => {
    const name = nameIn(path)
    if (name !== undefined && sftp.files.has(name)) stream.handle(id, handleOf(name))
    else stream.status(id, codes.NO_SUCH_FILE)
  })
  stream.on('FSTAT', (id, handle) => void stream.attrs(id, attrsOf(handles.get(handle.toString())!.name)))
  stream.on('READ', (id, handle, offset, length) => {
    sftp.onRead()
    if (sftp.hangs === 'read') return
    const { content } = sftp.files.get(handles.get(handle.toString())!.name)!
    const piece = content.subarray(offset, offset + length)
    if (piece.length === 0) stream.status(id, codes.EOF)
    else stream.data(id, piece)
  })
  stream.on('CLOSE', (id) => void stream.status(id, codes.OK))
}
