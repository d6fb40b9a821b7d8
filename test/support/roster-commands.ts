/** Runs `chiron …` to its end in a given folder, with or without a terminal. */
import { main, startChiron, startProcess } from './child.ts'

export interface Ran {
  readonly code: number | null
  readonly out: string
  readonly err: string
  // biome-ignore lint/suspicious/noExplicitAny: tests read lines freely
  readonly json: any[]
}

export async function run(cwd: string, args: string[], env: Record<string, string> = {}): Promise<Ran> {
  const child = startChiron(args, { cwd, env })
  const { code } = await child.exited
  const { out, err } = child.output
  const lines = args.includes('--json') ? out.split('\n').filter((line) => line !== '') : []
  return { code, out, err, json: lines.map((line) => JSON.parse(line)) }
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`

/** Runs on a terminal; `typed` answers its questions. */
export function onTerminal(cwd: string, args: string[], env: Record<string, string> = {}, typed = '') {
  const command = [process.execPath, main, ...args].map(quoted).join(' ')
  const script = `printf ${quoted(typed)} | script -qec ${quoted(command)} /dev/null`
  return startProcess('sh', ['-c', typed === '' ? `script -qec ${quoted(command)} /dev/null` : script], {
    cwd,
    env: { TERM: 'xterm', ...env },
  })
}

/** Strips terminal escape sequences. */
export function plain(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with one
  return text.replaceAll(/\u001b\[[\d;?]*[A-Za-z]/g, '').replaceAll('\r', '')
}
