/**
 * The cost of what a client of the OpenID provider asks for, as processor time of the server, one request at a time.
 *
 *   node bench/clients.ts [of each, default 1000] [sqlite | postgres]
 */
import { openDb } from '../src/platform/db/open.ts'
import { addClient, pkce } from '../test/support/applications.ts'
import { Bench } from './bench.ts'
import { serve, thisBuild } from './builds.ts'
import { spread, text } from './figures.ts'
import { bodyOf, Connection, json, wire } from './http.ts'
import { cpuMicros } from './processes.ts'
import type { Engine } from './stores.ts'

const [times = '1000', engine = 'sqlite'] = process.argv.slice(2)
const roundLength = 50
const rounds = Math.max(1, Number(times) / roundLength)

const bench = await Bench.open()
try {
  const stores = await bench.stores(engine as Engine)
  await stores.create('clients')
  const { mail, folder } = bench
  const databaseUrl = stores.url('clients')
  const server = await serve(thisBuild, { databaseUrl, smtpUrl: mail.url, cwd: folder, limits: false })
  const db = openDb(databaseUrl)
  const client = await addClient({ app: { parts: { db } }, clock: { now: Date.now } })
  await db.close()

  const connection = new Connection(server.port)
  const ask = async (
    method: 'GET' | 'POST',
    path: string,
    headers: Record<string, string>,
    body?: string,
  ) => {
    const reply = await connection.ask(wire({ method, path, headers, ...(body !== undefined && { body }) }))
    if (!/^HTTP\/1\.1 20[02] /.test(reply)) throw new Error(`${path} answered ${reply}`)
    return JSON.parse(bodyOf(reply))
  }
  const post = (path: string, body: object, headers = {}) =>
    ask('POST', path, { ...json, ...headers }, JSON.stringify(body))
  const basic = `Basic ${Buffer.from(`${client.id}:${client.secret}`).toString('base64')}`
  const form = (path: string, fields: Record<string, string>) =>
    ask(
      'POST',
      path,
      { authorization: basic, 'content-type': 'application/x-www-form-urlencoded' },
      new URLSearchParams(fields).toString(),
    )

  const email = 'clients@school.example'
  await post('/veterinarian/register', { firstname: 'Ada', lastname: 'Marsh', email })
  const code = mail.codeFor(email)
  const { sessionId } = await post('/veterinarian/send-otp', { email })
  const answer = { email, otp_code: Number(await code), sessionId }
  const { refresh_token } = await post('/veterinarian/validate-otp', answer)
  const cookie = { cookie: `chiron_refresh=${refresh_token}` }

  const signIn = async () => {
    const { verifier, challenge } = pkce()
    const query = new URLSearchParams({
      client_id: client.id,
      redirect_uri: client.redirectUri,
      response_type: 'code',
      scope: 'openid profile email',
      code_challenge: challenge,
      code_challenge_method: 'S256',
    }).toString()
    const { location } = await post('/portal/authorize', { query }, cookie)
    return form('/oauth/token', {
      grant_type: 'authorization_code',
      code: new URL(location).searchParams.get('code')!,
      redirect_uri: client.redirectUri,
      code_verifier: verifier,
    })
  }
  let tokens = await signIn()
  const work: Record<string, () => Promise<unknown>> = {
    'sign-in: POST /portal/authorize, POST /oauth/token': signIn,
    'refresh: POST /oauth/token': async () => {
      tokens = await form('/oauth/token', {
        grant_type: 'refresh_token',
        refresh_token: tokens.refresh_token,
      })
    },
    'GET /oauth/userinfo': () =>
      ask('GET', '/oauth/userinfo', { authorization: `Bearer ${tokens.access_token}` }),
    'POST /oauth/introspect': () => form('/oauth/introspect', { token: tokens.access_token }),
  }
  const round = async (one: () => Promise<unknown>) => {
    const before = cpuMicros([server.pid])
    for (let i = 0; i < roundLength; i++) await one()
    return (cpuMicros([server.pid]) - before) / roundLength
  }
  const costs = new Map<string, number[]>()
  // The first two rounds do not count. By turns, so that a busy moment of the machine meets all.
  for (let i = -2; i < rounds; i++)
    for (const [name, one] of Object.entries(work)) {
      // Sign-ins of this person beyond the 50th end older sessions, so the others need a new one.
      tokens = await signIn()
      const micros = await round(one)
      if (i >= 0) costs.set(name, [...(costs.get(name) ?? []), micros])
    }
  for (const [name, list] of costs)
    process.stdout.write(`${name}: ${text(spread(list))} µs of processor time\n`)
  connection.end()
} finally {
  await bench.close()
}
