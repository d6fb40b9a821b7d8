/** A real Keycloak, fetched once. Needs Java 17 and Maven. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, openSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fromMaven } from './maven.ts'
import { freePort } from './postgres.ts'
import { eventually } from './wait.ts'

const cache = join(homedir(), '.cache', 'chiron-keycloak')
const admin = { user: 'admin', password: 'admin' }

export async function startKeycloak(version: string) {
  const folder = join(cache, `keycloak-${version}`)
  if (!existsSync(folder)) {
    mkdirSync(cache, { recursive: true })
    const zip = fromMaven(`org.keycloak:keycloak-quarkus-dist:${version}:zip`, cache)
    const { status, error } = spawnSync('unzip', ['-q', zip, '-d', cache], { stdio: 'inherit' })
    if (error) throw error
    assert.equal(status, 0, 'unzip')
  }
  const port = await freePort()
  const base = `http://127.0.0.1:${port}`
  const log = openSync(join(cache, 'log'), 'w')
  const args = [
    'start-dev',
    '--db=dev-mem',
    '--http-host=127.0.0.1',
    `--http-port=${port}`,
    `--hostname=${base}`,
  ]
  const child = spawn(join(folder, 'bin/kc.sh'), args, {
    detached: true,
    stdio: ['ignore', log, log],
    env: {
      ...process.env,
      KC_BOOTSTRAP_ADMIN_USERNAME: admin.user,
      KC_BOOTSTRAP_ADMIN_PASSWORD: admin.password,
    },
  })
  const stop = () => {
    try {
      process.kill(-child.pid!, 'SIGKILL')
    } catch {
      // Already gone.
    }
  }
  process.on('exit', stop)
  const answers = async () => (await fetch(`${base}/realms/master`).catch(() => null))?.ok
  // On a busy machine it takes more than two minutes.
  await eventually('Keycloak answers', answers).catch(() => eventually('Keycloak answers', answers))
  return { base, stop, administer: administratorOf(base) }
}

/** Calls to Keycloak's own interface for administrators. */
function administratorOf(base: string) {
  return async (method: string, path: string, body?: unknown): Promise<Response> => {
    const form = {
      grant_type: 'password',
      client_id: 'admin-cli',
      username: admin.user,
      password: admin.password,
    }
    const token = await fetch(`${base}/realms/master/protocol/openid-connect/token`, {
      method: 'POST',
      body: new URLSearchParams(form),
    })
    const { access_token } = (await token.json()) as { access_token: string }
    const reply = await fetch(`${base}/admin/realms${path}`, {
      method,
      headers: { Authorization: `Bearer ${access_token}`, 'Content-Type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    assert.ok(reply.ok, `${method} ${path}: ${reply.status}`)
    return reply
  }
}
