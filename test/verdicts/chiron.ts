/**
 * Runs commands of one checkout, named by its folder, in one process: to start one for each takes longer than most of
 * them. `src/cli.ts` parses the command line whenever it is loaded, and nothing else of the checkout is used. The clock
 * stands still during a command.
 */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

export interface Call {
  readonly args: readonly string[]
  readonly cwd: string
  /** Settings; none of this process are passed on. */
  readonly env: Readonly<Record<string, string>>
  readonly now: number
}

export interface Ran {
  readonly code: number
  readonly out: string
  readonly err: string
}

const cli = pathToFileURL(join(process.argv[2]!, 'src/cli.ts')).href
const written = { out: '', err: '' }
let calls = 0
let now = 0

function keep(stream: NodeJS.WriteStream, name: keyof typeof written): void {
  stream.setMaxListeners(0)
  stream.write = (chunk: string | Uint8Array, ...rest: unknown[]) => {
    written[name] += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString()
    const done = rest.find((one) => typeof one === 'function')
    if (done) process.nextTick(done)
    return true
  }
}

keep(process.stdout, 'out')
keep(process.stderr, 'err')
Date.now = () => now
// A failed command ends its process a moment later.
process.exit = (() => {}) as never
for (const name of Object.keys(process.env)) if (name.startsWith('CHIRON_')) delete process.env[name]

process.on('message', async (call: Call) => {
  now = call.now
  process.chdir(call.cwd)
  Object.assign(process.env, call.env)
  process.argv = [process.execPath, cli, ...call.args]
  process.exitCode = 0
  Object.assign(written, { out: '', err: '' })
  await import(`${cli}?call=${calls++}`).catch((error) => {
    process.exitCode = -1
    written.err += error.stack
  })
  for (const name of Object.keys(call.env)) delete process.env[name]
  process.send!({ code: Number(process.exitCode), ...written } satisfies Ran)
})
