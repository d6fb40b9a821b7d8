/** Programs in Python: Authlib with Flask, Django, JupyterHub and pgAdmin. */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { startProcess } from '../support/child.ts'
import { sampleIn } from '../support/samples.ts'
import { eventually } from '../support/wait.ts'
import { email, type Party, type World, works } from './world.ts'

const here = fileURLToPath(new URL('.', import.meta.url))
const python = process.env.PYTHON ?? 'python3'
const pgadmin = process.env.PGADMIN ?? python
const page = 'docs/applications.md'
const has = (...packages: string[]) => works(python, '-c', `import ${packages.join(', ')}`)

async function authlib({ folder, newSite, visits }: World): Promise<void> {
  const site = await newSite('/callback')
  const file = join(folder, 'web.py')
  writeFileSync(file, sampleIn(page, 'python', 'flask').replace('8080', new URL(site.home).port))
  const child = startProcess(python, [file], { env: { ...site.env, APP_SECRET: 'of the application' } })
  const cancelled = 'The sign-in did not succeed: The person declined.'
  await visits(site, child, { path: '/', shown: 'Hello Ada Marsh', cancelled })
}

async function django({ folder, newSite, visits }: World): Promise<void> {
  const site = await newSite('/oidc/callback/')
  const project = join(folder, 'django')
  mkdirSync(project)
  writeFileSync(join(project, 'chiron_settings.py'), sampleIn(page, 'python', 'OIDC_RP_SIGN_ALGO'))
  writeFileSync(join(project, 'chiron_backend.py'), sampleIn(page, 'python', 'OIDCAuthenticationBackend)'))
  writeFileSync(join(project, 'manage.py'), readFileSync(join(here, 'site.py'), 'utf8'))
  const args = ['manage.py', 'runserver', '--noreload', new URL(site.home).host]
  const child = startProcess(python, args, { cwd: project, env: site.env })
  const visit = { path: '/oidc/authenticate/', shown: 'Hello Ada Marsh', cancelled: 'Hello stranger' }
  await visits(site, child, visit)
}

async function jupyterHub({ folder, person, newSite, visits }: World): Promise<void> {
  const site = await newSite('/hub/oauth_callback')
  const file = join(folder, 'jupyterhub_config.py')
  const settings = sampleIn(page, 'python', 'JupyterHub').replace('https://hub.example.org', site.home)
  writeFileSync(file, settings + readFileSync(join(here, 'hub.py'), 'utf8'))
  const child = startProcess(python, ['-m', 'jupyterhub', '-f', file], { cwd: folder, env: site.env })
  const path = '/hub/oauth_login?next=%2Fhub%2Fhome'
  await visits(site, child, { path, shown: person.userId.toLowerCase(), cancelled: 'The person declined' })
}

/** Its sign-in begins with a form, and its pages say only by scripts who is there. */
async function pgAdmin({ folder, person, newSite, newBrowser }: World): Promise<void> {
  const site = await newSite('/oauth2/authorize', { claimsInIdToken: true })
  const data = join(folder, 'pgadmin')
  mkdirSync(data)
  const own = `SERVER_MODE = True\nDATA_DIR = ${JSON.stringify(data)}\nLOG_FILE = ${JSON.stringify(join(data, 'log'))}\n`
  const server = `DEFAULT_SERVER_PORT = ${new URL(site.home).port}\nMASTER_PASSWORD_REQUIRED = False\n`
  writeFileSync(join(data, 'config_local.py'), sampleIn(page, 'python', 'OAUTH2_CONFIG') + own + server)
  const program =
    "import pgadmin4, runpy; runpy.run_path(pgadmin4.__path__[0] + '/pgAdmin4.py', run_name='__main__')"
  const setup = { PGADMIN_SETUP_EMAIL: 'admin@school.example', PGADMIN_SETUP_PASSWORD: 'a-long-password' }
  const child = startProcess(pgadmin, ['-c', program], { env: { ...site.env, ...setup, PYTHONPATH: data } })
  const openAs = async (declined: boolean) => {
    const { open } = newBrowser({ declined })
    const [, csrf_token = ''] = /"csrfToken": "([^"]+)"/.exec(await open(`${site.home}/login`)) ?? []
    return open(`${site.home}/authenticate/login`, { oauth2_button: 'chiron', csrf_token })
  }
  try {
    await eventually('it listens', () => fetch(site.home, { redirect: 'manual' }).catch(() => undefined))
    const page = await openAs(false)
    const store = new DatabaseSync(join(data, 'pgadmin4.db'))
    const found = store.prepare('select email from user where username = ?').get(person.userId)
    store.close()
    assert.equal(found?.email, email, page)
    assert.match(await openAs(true), /The person declined/)
  } catch (error) {
    throw new Error(`${error}\n${(child.output.err + child.output.out).slice(-3_000)}`)
  } finally {
    await child.end()
  }
}

export const pythonParties: Record<string, Party> = {
  Authlib: { isThere: () => has('authlib', 'flask', 'requests'), signIn: authlib },
  Django: { isThere: () => has('django', 'mozilla_django_oidc'), signIn: django },
  pgAdmin: { isThere: () => works(pgadmin, '-c', 'import pgadmin4'), signIn: pgAdmin },
  JupyterHub: { isThere: () => has('jupyterhub', 'oauthenticator'), signIn: jupyterHub },
}
