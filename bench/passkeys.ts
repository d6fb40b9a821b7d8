/**
 * The cost of a sign-in with a passkey and of one with a code, by turns, as processor time of the server, and whether reply times reveal which credentials are known (area under the ROC curve: 0.5 means that they cannot be told apart).
 *
 *   node bench/passkeys.ts [sign-ins, default 1000] [sqlite | postgres]
 */
import { Authenticator, keyPair } from '../test/support/authenticator.ts'
import { Bench } from './bench.ts'
import { serve, thisBuild } from './builds.ts'
import { areaUnderCurve, spread } from './figures.ts'
import { bodyOf, Connection, json, wire } from './http.ts'
import { cpuMicros } from './processes.ts'
import type { Engine } from './stores.ts'

const [times = '1000', engine = 'sqlite'] = process.argv.slice(2)
const count = Number(times)
/** The usual one. */
const publicUrl = 'http://localhost:3000'

const bench = await Bench.open()
try {
  const stores = await bench.stores(engine as Engine)
  await stores.create('passkeys')
  const { mail, folder } = bench
  const serving = { databaseUrl: stores.url('passkeys'), smtpUrl: mail.url, cwd: folder, limits: false }
  const server = await serve(thisBuild, serving)
  const connection = new Connection(server.port)
  const post = async (path: string, body: object, token?: string) => {
    const headers = { ...json, ...(token !== undefined && { authorization: `Bearer ${token}` }) }
    const text = wire({ method: 'POST', path, headers, body: JSON.stringify(body) })
    const since = performance.now()
    const reply = await connection.ask(text)
    return { ms: performance.now() - since, status: reply.slice(9, 12), body: JSON.parse(bodyOf(reply)) }
  }
  const expect = async (status: string, asked: ReturnType<typeof post>) => {
    const reply = await asked
    if (reply.status !== status) throw new Error(`expected ${status}, got ${JSON.stringify(reply.body)}`)
    return reply.body
  }

  const email = 'passkeys@school.example'
  await post('/veterinarian/register', { firstname: 'Ada', lastname: 'Marsh', email })
  const byCode = async () => {
    const code = mail.codeFor(email)
    const { sessionId } = await expect('202', post('/veterinarian/send-otp', { email }))
    const answer = { email, otp_code: Number(await code), sessionId }
    return expect('200', post('/veterinarian/validate-otp', answer))
  }
  const spent = async (work: () => Promise<unknown>) => {
    const before = cpuMicros([server.pid])
    await work()
    return cpuMicros([server.pid]) - before
  }
  const roundLength = 50
  const round = async (signIn: () => Promise<unknown>) => {
    const micros = await spent(async () => {
      for (let i = 0; i < roundLength; i++) await signIn()
    })
    return micros / roundLength
  }

  const { access_token: token } = await byCode()
  const device = new Authenticator(publicUrl)
  const options = await expect('200', post('/passkey/add-options', {}, token))
  await expect('201', post('/passkey', { credential: device.create(options) }, token))
  const byPasskey = async () => {
    const credential = device.get(await expect('200', post('/passkey/options', {})))
    return expect('200', post('/passkey/validate', { credential }))
  }

  for (const signIn of [byPasskey, byCode]) for (let i = 0; i < 2; i++) await round(signIn)
  // By turns, so that a busy moment of the machine meets both.
  const costs: Record<'passkey' | 'code' | 'ratio', number[]> = { passkey: [], code: [], ratio: [] }
  for (let i = 0; i < Math.max(1, count / roundLength); i++) {
    const [passkey, code] = [await round(byPasskey), await round(byCode)]
    costs.passkey.push(passkey)
    costs.code.push(code)
    costs.ratio.push(passkey / code)
  }
  for (const way of ['passkey', 'code'] as const)
    process.stdout.write(
      `whole sign-in with a ${way}: ${spread(costs[way]).median.toFixed(0)} µs of processor time\n`,
    )
  process.stdout.write(`passkey to code: × ${spread(costs.ratio).median.toFixed(2)}\n`)

  const stranger = new Authenticator(publicUrl)
  stranger.create(options)
  const key = keyPair('ES256').privateKey
  const [known, unknown]: [number[], number[]] = [[], []]
  while (known.length + unknown.length < 2 * count) {
    const [list, asked] = Math.random() < 0.5 ? [known, device] : [unknown, stranger]
    if (list.length >= count) continue
    const credential = asked.get((await post('/passkey/options', {})).body, { key })
    const { ms, status } = await post('/passkey/validate', { credential })
    if (status !== '401') throw new Error(`a wrong signature was answered with ${status}`)
    list.push(ms)
  }
  const [ofKnown, ofUnknown] = [known, unknown].map((list) => `${spread(list).median.toFixed(3)} ms`)
  const area = areaUnderCurve(known, unknown).toFixed(3)
  process.stdout.write(`wrong signatures: AUC ${area}, median known ${ofKnown}, unknown ${ofUnknown}\n`)
  connection.end()
} finally {
  await bench.close()
}
