/**
 * Clients made from the OpenAPI document by generators of other languages sign somebody in: oapi-codegen (Go) and
 * openapi-generator's typescript-fetch, both without options. They need Go, Java, Maven, and the network once, so they are
 * not part of `npm test`, which checks the rules that they depend on (`names.ts`).
 *
 *   node test/clients/run.ts
 */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { newFolder } from '../support/child.ts'
import { fromMaven } from '../support/maven.ts'
import { startService } from '../support/service.ts'
import { signedInAndOut } from './generators.ts'

const here = fileURLToPath(new URL('.', import.meta.url))
const cache = join(homedir(), '.cache', 'chiron-clients')
const generator = 'org.openapitools:openapi-generator-cli:7.25.0:jar'
const goEnv = { ...process.env, GOTOOLCHAIN: 'auto' }

const folder = newFolder()
const service = await startService('sqlite')
const document = join(folder.path, 'openapi.json')

/** Runs a program, and throws what it says if it fails. */
function done(cwd: string, program: string, ...args: string[]): void {
  const { status, error, stdout, stderr } = spawnSync(program, args, { cwd, encoding: 'utf8', env: goEnv })
  if (error) throw error
  assert.equal(status, 0, `${program}: ${stdout}${stderr}`)
}

const readCode = async (email: string) => (await service.mail.mailTo(email)).code!

async function oapiCodegen(email: string): Promise<unknown> {
  const go = join(folder.path, 'go')
  cpSync(join(here, 'go'), go, { recursive: true })
  mkdirSync(join(go, 'chiron'))
  const args = ['-generate', 'types,client', '-package', 'chiron', '-o', 'chiron/chiron.go', document]
  done(go, 'go', 'tool', 'oapi-codegen', ...args)
  done(go, 'go', 'build', '-o', 'program', '.')
  const child = spawn(join(go, 'program'), [service.url, email], { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  assert.equal((await lines.next()).value, 'code?')
  child.stdin.end(`${await readCode(email)}\n`)
  return JSON.parse((await lines.next()).value ?? '')
}

async function typescriptFetch(email: string): Promise<unknown> {
  const fetch = join(folder.path, 'fetch')
  cpSync(join(here, 'typescript-fetch'), fetch, { recursive: true })
  mkdirSync(cache, { recursive: true })
  const jar = fromMaven(generator, cache)
  done(fetch, 'java', '-jar', jar, 'generate', '-i', document, '-g', 'typescript-fetch', '-o', 'client')
  const compiler = createRequire(import.meta.url).resolve('typescript/package.json')
  const options = '--strict --target es2022 --lib es2022,dom --module commonjs --moduleResolution node10'
  done(fetch, process.execPath, join(dirname(compiler), 'bin/tsc'), 'program.ts', ...options.split(' '))
  const program = await import(pathToFileURL(join(fetch, 'program.js')).href)
  return program.signInAndOut(service.url, email, () => readCode(email))
}

try {
  writeFileSync(document, (await service.request('/openapi.json')).text)
  for (const [name, signInAndOut] of Object.entries({ oapiCodegen, typescriptFetch })) {
    const email = `${name.toLowerCase()}@clinic.example`
    assert.deepEqual(await signInAndOut(email), signedInAndOut(email))
    process.stdout.write(`${name}: works\n`)
  }
} finally {
  await service.stop()
  folder.remove()
}
