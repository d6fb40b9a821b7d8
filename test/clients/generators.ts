/** Clients made from the document by the two common generators, and a linter's opinion of it. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createClient } from '@hey-api/openapi-ts'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import openapiTypescript, { astToString, type OpenAPI3 } from 'openapi-typescript'

const folder = fileURLToPath(new URL('.', import.meta.url))
const output = join(folder, 'output')

interface Program {
  signInAndOut(baseUrl: string, email: string, readCode: () => Promise<number>): Promise<unknown>
  readStudents(baseUrl: string, token: string): Promise<{ userIds: string[]; pagesMs: number[] }>
}

/** What every program tells. */
export const signedInAndOut = (email: string) => ({
  statuses: [202, 202, 401, 200, 200, 200, 204, 401],
  attemptsLeft: 4,
  email,
  code: 'session-ended',
})

export const programs = ['openapi-fetch', 'hey-api']

/** The generated code, and the programs that use it, compiled by the project's own compiler; throws what it says. */
export async function generateClients(document: object): Promise<void> {
  rmSync(output, { recursive: true, force: true })
  mkdirSync(output)
  const types = await openapiTypescript(document as OpenAPI3)
  writeFileSync(join(output, 'openapi-typescript.ts'), astToString(types))
  await createClient({
    input: { ...document },
    output: join(output, 'hey-api'),
    plugins: ['@hey-api/client-fetch', '@hey-api/typescript', '@hey-api/sdk'],
    logs: { level: 'silent', file: false },
  })
  const root = createRequire(join(folder, '../../package.json'))
  const compiler = join(dirname(root.resolve('typescript/package.json')), 'bin/tsc')
  try {
    execFileSync(process.execPath, [compiler, '-p', folder], { encoding: 'utf8' })
  } catch (error) {
    throw new Error((error as { stdout: string }).stdout)
  }
}

export async function loadProgram(name: string): Promise<Program> {
  return import(join(output, 'built/programs', `${name}.js`))
}

export async function complaintsAbout(document: object): Promise<string[]> {
  const config = await createConfig({ extends: ['recommended-strict'] })
  const found = await lintFromString({
    source: JSON.stringify(document),
    absoluteRef: 'openapi.json',
    config,
  })
  return found.map(({ ruleId, message, location }) => `${ruleId}: ${message} (${location[0]?.pointer})`)
}
