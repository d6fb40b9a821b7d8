/**
 * Can an outsider tell known addresses from unknown ones by the time of a reply? Sends both in random order over one
 * connection and prints, for each route, the area under the ROC curve: 0.5 means that they cannot be told apart.
 *
 *   node bench/timing.ts [requests per class, default 5000] [sqlite | postgres]
 */
import { Bench } from './bench.ts'
import { serve, thisBuild } from './builds.ts'
import { areaUnderCurve, spread } from './figures.ts'
import { bodyOf, Connection, json, wire } from './http.ts'
import type { Engine } from './stores.ts'

const [perClass = '5000', engine = 'sqlite'] = process.argv.slice(2)
const knownCount = 200
const uncounted = 300

interface Reply {
  readonly status: string
  readonly body: Record<string, string>
  readonly ms: number
}

const names = { firstname: 'Ada', lastname: 'Marsh' }
const knownAddress = (i: number) => `known${i % knownCount}@school.example`
const unknownAddress = (i: number) => `stranger${i % knownCount}@school.example`

const bench = await Bench.open()
try {
  const stores = await bench.stores(engine as Engine)
  await stores.create('timing')
  const { mail, folder } = bench
  const serving = { databaseUrl: stores.url('timing'), smtpUrl: mail.url, cwd: folder, limits: false }
  const connection = new Connection((await serve(thisBuild, serving)).port)

  const post = async (action: string, body: object): Promise<Reply> => {
    const text = wire({
      ...{ method: 'POST', path: `/veterinarian/${action}`, headers: json, body: JSON.stringify(body) },
    })
    const started = performance.now()
    const reply = await connection.ask(text)
    return { ms: performance.now() - started, status: reply.slice(9, 12), body: JSON.parse(bodyOf(reply)) }
  }

  for (let i = 0; i < knownCount; i++) {
    const email = knownAddress(i)
    await post('register', { ...names, email })
    const code = mail.codeFor(email)
    const { sessionId } = (await post('send-otp', { email })).body
    const { status } = await post('validate-otp', { email, otp_code: Number(await code), sessionId })
    if (status !== '200') throw new Error(`the reply to a sign-in was ${status}`)
  }

  const routes: Record<string, (email: string) => Promise<Reply>> = {
    register: (email) => post('register', { ...names, email }),
    'send-otp': (email) => post('send-otp', { email }),
    'validate-otp': async (email) => {
      const { sessionId } = (await post('send-otp', { email })).body
      return post('validate-otp', { email, otp_code: 100000, sessionId })
    },
  }
  for (const [name, ask] of Object.entries(routes)) {
    const [known, unknown]: [number[], number[]] = [[], []]
    for (let i = 0; i < uncounted; i++) await ask(i % 2 ? knownAddress(i) : unknownAddress(i))
    while (known.length + unknown.length < 2 * Number(perClass)) {
      const [times, address] = Math.random() < 0.5 ? [known, knownAddress] : [unknown, unknownAddress]
      if (times.length < Number(perClass)) times.push((await ask(address(times.length))).ms)
    }
    const [ofKnown, ofUnknown] = [known, unknown].map((times) => `${spread(times).median.toFixed(3)} ms`)
    const area = areaUnderCurve(known, unknown).toFixed(3)
    process.stdout.write(`${name.padEnd(13)} AUC ${area}, median known ${ofKnown}, unknown ${ofUnknown}\n`)
  }
  connection.end()
} finally {
  await bench.close()
}
