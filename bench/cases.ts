/** What is measured: which requests go to which server, and what a right answer is. */
import { bodyOf, Line, wire } from './line.ts'
import type { Deck, Traffic } from './load.ts'
import { addressOf, getSession } from './peers/better-auth/peer.ts'
import type { Load, Running } from './processes.ts'
import { type Engine, type Filled, type Sizes, school, storeOf, type Token, twin } from './stores.ts'
import type { Card } from './traffic.ts'

export interface Case {
  readonly id: string
  readonly name: string
  readonly engine: Engine | null
  readonly accounts: number | null
  readonly server: Running
  readonly traffic: Traffic
  readonly seconds: number
  /** Whether a token is dear when it is first seen, so that each must be seen before it counts. */
  readonly hasTokens: boolean
}

export const connections = 48
export const classesPerStudent = 12

/** In seconds. */
export interface Durations {
  readonly bare: number
  readonly request: number
  readonly signIns: number
}

/** The servers of one engine; those of stores by the store's name. */
export interface Servers {
  readonly stores: ReadonlyMap<string, Running>
  readonly peer: Running
}

const bearer = (path: string, token: Token, expected: string): Card => ({
  text: wire({ method: 'GET', path, headers: { authorization: `Bearer ${token.accessToken}` } }),
  expected,
})
const me = (token: Token) => bearer('/veterinarian/me', token, `"userId":"${token.userId}"`)
const profile = ({ userId }: Token): Card => ({
  text: wire({ method: 'GET', path: `/veterinarian/${userId}` }),
  expected: `"userId":"${userId}"`,
})
const notModified = ({ userId }: Token, etag: string): Card => ({
  text: wire({ method: 'GET', path: `/veterinarian/${userId}`, headers: { 'if-none-match': etag } }),
})

export function bareCase(server: Running, seconds: number): Case {
  const traffic = { kind: 'requests', deck: 'bare', status: 200 } as const
  const about = { id: 'bare', name: 'bare node:http', engine: null, accounts: null, hasTokens: false }
  return { ...about, server, traffic, seconds }
}

export const bareDeck: Deck = {
  deck: 'bare',
  cards: [{ text: wire({ method: 'GET', path: '/' }), expected: '"fixed":"xxx' }],
}

/** Gives the load its cards for one engine. */
export async function deal(
  load: Load,
  engine: Engine,
  { tokens, cookies }: Filled,
  servers: Servers,
  sizes: Sizes,
): Promise<void> {
  const keep = (deck: string, cards: readonly Card[]) => load.keep({ deck: `${engine} ${deck}`, cards })
  for (const [store, all] of tokens) {
    const veterinarians = all.filter((token) => token.role === 'veterinarian')
    await keep(`me ${store}`, veterinarians.map(me))
    await keep(`profile ${store}`, veterinarians.map(profile))
    const addresses = new Set(veterinarians.map((token) => token.email))
    await keep(
      `addresses ${store}`,
      [...addresses].map((text) => ({ text })),
    )
    if (store !== school) continue
    const students = all.filter((token) => token.role === 'student')
    await keep(
      'student',
      students.map((t) => bearer('/student/me', t, `"userId":"${t.userId}"`)),
    )
    await keep(
      'classes',
      students.map((t) => bearer('/student/me/classes?when=all', t, '{"classes":[{')),
    )
    await keep(
      'refresh',
      veterinarians.map(({ refreshToken }) => ({ text: refreshToken })),
    )
    const etags = await etagsOf(servers.stores.get(store)!.port, veterinarians)
    await keep(
      '304',
      veterinarians.map((token, i) => notModified(token, etags[i]!)),
    )
  }
  await keep(
    'sessions',
    cookies.map((cookie) => ({ text: wire(getSession(cookie)), expected: '"session":{' })),
  )
  const users = Array.from({ length: sizes.peerUsers }, (_, i) => ({ text: addressOf(i) }))
  await keep('users', users)
}

async function etagsOf(port: number, people: readonly Token[]): Promise<string[]> {
  const etags: string[] = []
  let next = 0
  const caller = async () => {
    const line = new Line(port)
    while (next < people.length) {
      const i = next++
      const reply = await new Promise<string>((done) => line.send(profile(people[i]!).text, done))
      etags[i] = /\r\netag: ?([^\r]+)/i.exec(reply)![1]!
    }
    line.end()
  }
  await Promise.all(Array.from({ length: connections }, caller))
  return etags
}

/** A school whose students have fewer classes would flatter. */
export async function checkClasses(port: number, tokens: readonly Token[]): Promise<void> {
  const student = tokens.find((token) => token.role === 'student')!
  const line = new Line(port)
  const card = bearer('/student/me/classes?when=all', student, '')
  const reply = await new Promise<string>((done) => line.send(card.text, done))
  line.end()
  const count = JSON.parse(Buffer.from(bodyOf(reply), 'latin1').toString()).classes.length
  if (count !== classesPerStudent) throw new Error(`a student has ${count} classes, not ${classesPerStudent}`)
}

/** Cases of one engine, one process on one core. */
export function casesOf(engine: Engine, servers: Servers, sizes: Sizes, durations: Durations): Case[] {
  const most = sizes.accounts.at(-1)!
  const large = servers.stores.get(school)!
  const limited = servers.stores.get(twin)!
  const make = (id: string, name: string, accounts: number, server: Running, traffic: Traffic): Case => {
    const seconds = traffic.kind === 'sign-ins' ? durations.signIns : durations.request
    const hasTokens = /^(me|student)\b/.test(id)
    return { id: `${engine}/${id}`, name, engine, accounts, server, traffic, seconds, hasTokens }
  }
  const requests = (deck: string, status = 200): Traffic => ({
    kind: 'requests',
    deck: `${engine} ${deck}`,
    status,
  })
  const signIns = (deck: string, flow: 'chiron' | 'chiron, own networks' | 'better-auth'): Traffic => ({
    kind: 'sign-ins',
    deck: `${engine} ${deck}`,
    flow,
  })
  const on = (id: string, name: string, traffic: Traffic) => make(id, name, most, large, traffic)
  const bySize = sizes.accounts.flatMap((accounts) => {
    const store = storeOf(accounts, sizes)
    const server = servers.stores.get(store)!
    const suffix = accounts === most ? '' : `@${accounts}`
    return [
      make(`me${suffix}`, 'GET /veterinarian/me', accounts, server, requests(`me ${store}`)),
      make(`profile${suffix}`, 'GET /veterinarian/{userId}', accounts, server, requests(`profile ${store}`)),
      make(`sign-in${suffix}`, 'whole sign-in', accounts, server, signIns(`addresses ${store}`, 'chiron')),
    ]
  })
  return [
    ...bySize,
    on('not-modified', 'GET /veterinarian/{userId}, 304', requests('304', 304)),
    on('student', 'GET /student/me', requests('student')),
    on('classes', `GET /student/me/classes, ${classesPerStudent} classes`, requests('classes')),
    on('refresh', 'POST /session/refresh', { kind: 'refresh', deck: `${engine} refresh` }),
    on('register', 'POST /veterinarian/register', { kind: 'register' }),
    make('me-limited', 'GET /veterinarian/me, limits on', most, limited, requests(`me ${school}`)),
    make(
      'sign-in-limited',
      'whole sign-in, limits on',
      most,
      limited,
      signIns(`addresses ${school}`, 'chiron, own networks'),
    ),
    make('peer-session', 'Better Auth: get-session', sizes.peerUsers, servers.peer, requests('sessions')),
    make(
      'peer-sign-in',
      'Better Auth: whole sign-in',
      sizes.peerUsers,
      servers.peer,
      signIns('users', 'better-auth'),
    ),
  ]
}
