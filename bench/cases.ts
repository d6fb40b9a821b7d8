/** What is measured: which requests, and what a right answer to each is. */
import { Connection, fromNetwork, wire } from './http.ts'
import type { Card, Traffic } from './orders.ts'
import type { Token } from './stores.ts'

export interface Case {
  readonly id: string
  readonly name: string
  /** Off where the service's own limit is below what a benchmark asks. */
  readonly limits: boolean
  /** What is sent, made from live tokens; `port` is a server that may be asked for what tokens do not tell. */
  cards(tokens: readonly Token[], port: number): Promise<readonly Card[]>
  traffic(deck: string): Traffic
}

const classesPerStudent = 12

const veterinarians = (tokens: readonly Token[]) => tokens.filter(({ role }) => role === 'veterinarian')
const students = (tokens: readonly Token[]) => tokens.filter(({ role }) => role === 'student')
const bearer = (path: string, { accessToken }: Token, expected: string): Card => ({
  text: wire({ method: 'GET', path, headers: { authorization: `Bearer ${accessToken}` } }),
  expected,
})
const profile = ({ userId }: Token, network: number, headers: Record<string, string> = {}) =>
  wire({
    method: 'GET',
    path: `/veterinarian/${userId}`,
    headers: { ...fromNetwork(network), ...headers },
  })

type Read = Pick<Case, 'id' | 'name' | 'cards'>

const read = (one: Read, status = 200): Case => ({
  ...one,
  limits: true,
  traffic: (deck) => ({ kind: 'requests', deck, status }),
})

export const cases: readonly Case[] = [
  read({
    id: 'me',
    name: 'GET /veterinarian/me',
    cards: async (tokens) =>
      veterinarians(tokens).map((token) => bearer('/veterinarian/me', token, `"userId":"${token.userId}"`)),
  }),
  read({
    id: 'profile',
    name: 'GET /veterinarian/{userId}',
    cards: async (tokens) =>
      veterinarians(tokens).map((token, i) => ({
        text: profile(token, i),
        expected: `"userId":"${token.userId}"`,
      })),
  }),
  read(
    {
      id: 'profile-304',
      name: 'GET /veterinarian/{userId}, 304',
      cards: async (tokens, port) => {
        const people = veterinarians(tokens)
        const etags = await etagsOf(people, port)
        return people.map((token, i) => ({ text: profile(token, i, { 'if-none-match': etags[i]! }) }))
      },
    },
    304,
  ),
  read({
    id: 'student',
    name: 'GET /student/me',
    cards: async (tokens) =>
      students(tokens).map((token) => bearer('/student/me', token, `"userId":"${token.userId}"`)),
  }),
  read({
    id: 'classes',
    name: `GET /student/me/classes, ${classesPerStudent} classes`,
    cards: async (tokens) =>
      students(tokens).map((token) => bearer('/student/me/classes?when=all', token, '{"classes":[{')),
  }),
  {
    id: 'refresh',
    name: 'POST /session/refresh',
    limits: true,
    cards: async (tokens) => veterinarians(tokens).map(({ refreshToken }) => ({ text: refreshToken })),
    traffic: (deck) => ({ kind: 'refresh', deck }),
  },
  {
    id: 'register',
    name: 'POST /veterinarian/register, limits off',
    limits: false,
    cards: async () => [],
    traffic: () => ({ kind: 'register' }),
  },
  {
    id: 'sign-in',
    name: 'whole sign-in: send-otp, mail, validate-otp',
    limits: true,
    cards: async (tokens) =>
      [...new Set(veterinarians(tokens).map(({ email }) => email))].map((text) => ({ text })),
    traffic: (deck) => ({ kind: 'sign-ins', deck, flow: 'chiron' }),
  },
]

async function etagsOf(people: readonly Token[], port: number): Promise<string[]> {
  const etags: string[] = []
  let next = 0
  const caller = async () => {
    const connection = new Connection(port)
    while (next < people.length) {
      const i = next++
      const reply = await connection.ask(profile(people[i]!, i))
      etags[i] = /\r\netag: ?([^\r]+)/i.exec(reply)![1]!
    }
    connection.end()
  }
  await Promise.all(Array.from({ length: 16 }, caller))
  return etags
}
