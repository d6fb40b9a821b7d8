/** Programs in JavaScript: express-openid-connect and Auth.js. Their packages are in the folder NODE_PACKAGES. */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startProcess } from '../support/child.ts'
import { sampleIn } from '../support/samples.ts'
import { eventually } from '../support/wait.ts'
import type { Party, World } from './world.ts'

const packages = process.env.NODE_PACKAGES ?? ''
const page = 'docs/applications.md'
const has = (name: string) => existsSync(join(packages, 'node_modules', name, 'package.json'))

async function expressOpenid({ newSite, visits }: World): Promise<void> {
  const site = await newSite('/callback')
  const child = start('express.mjs', 'express-openid-connect', site.home, site.env)
  const visit = { path: '/', shown: 'Hello Ada Marsh', cancelled: 'The person declined' }
  await visits(site, child, visit)
}

function start(name: string, word: string, home: string, env: Record<string, string>) {
  const file = join(packages, name)
  writeFileSync(
    file,
    sampleIn(page, 'js', word).replace('http://localhost:8080', home).replaceAll('8080', new URL(home).port),
  )
  const secrets = { APP_SECRET: 'a secret of the application that is long', AUTH_SECRET: 'another'.repeat(6) }
  return startProcess(process.execPath, [file], { env: { ...env, ...secrets } })
}

/** Its sign-in begins with a form. */
async function authJs({ person, newSite, newBrowser }: World): Promise<void> {
  const site = await newSite('/auth/callback/chiron')
  const child = start('auth.mjs', '@auth/express', site.home, site.env)
  const look = async (declined: boolean, expected: string) => {
    const { open } = newBrowser({ declined })
    const { csrfToken } = JSON.parse(await open(`${site.home}/auth/csrf`))
    const text = await open(`${site.home}/auth/signin/chiron`, { csrfToken, callbackUrl: site.home })
    if (!text.includes(expected)) throw new Error(`no "${expected}" on the page: ${text.slice(0, 2_000)}`)
  }
  try {
    await eventually('it listens', () => fetch(site.home).catch(() => undefined))
    await look(false, `Hello Ada Marsh (${person.userId})`)
    await look(true, 'Try signing in with a different account')
  } catch (error) {
    throw new Error(`${error}\n${child.output.err.slice(-3_000)}`)
  } finally {
    await child.end()
  }
}

export const nodeParties: Record<string, Party> = {
  'express-openid-connect': { isThere: () => has('express-openid-connect'), signIn: expressOpenid },
  'Auth.js': { isThere: () => has('@auth/express'), signIn: authJs },
}
