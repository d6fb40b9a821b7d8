/** What is measured: which requests, and what a right answer to each is. */
import { fromNetwork, wire } from './http.ts'
import type { Card, Traffic } from './orders.ts'
import type { Token } from './stores.ts'

export interface Case {
  readonly id: string
  readonly name: string
  /** Off where the service's own limit is below what a benchmark asks. */
  readonly limits: boolean
  /** What is sent, made from live tokens. */
  cards(tokens: readonly Token[]): readonly Card[]
  traffic(deck: string): Traffic
}

const classesPerStudent = 12

const veterinarians = (tokens: readonly Token[]) => tokens.filter(({ role }) => role === 'veterinarian')
const students = (tokens: readonly Token[]) => tokens.filter(({ role }) => role === 'student')
const bearer = (path: string, { accessToken }: Token, expected: string): Card => ({
  text: wire({ method: 'GET', path, headers: { authorization: `Bearer ${accessToken}` } }),
  expected,
})

type Read = Pick<Case, 'id' | 'name' | 'cards'>

const read = (one: Read): Case => ({
  ...one,
  limits: true,
  traffic: (deck) => ({ kind: 'requests', deck }),
})

export const cases: readonly Case[] = [
  read({
    id: 'me',
    name: 'GET /veterinarian/me',
    cards: (tokens) =>
      veterinarians(tokens).map((token) => bearer('/veterinarian/me', token, `"userId":"${token.userId}"`)),
  }),
  read({
    id: 'profile',
    name: 'GET /veterinarian/{userId}',
    cards: (tokens) =>
      veterinarians(tokens).map((token, i) => ({
        text: wire({ method: 'GET', path: `/veterinarian/${token.userId}`, headers: fromNetwork(i) }),
        expected: `"userId":"${token.userId}"`,
      })),
  }),
  read({
    id: 'student',
    name: 'GET /student/me',
    cards: (tokens) =>
      students(tokens).map((token) => bearer('/student/me', token, `"userId":"${token.userId}"`)),
  }),
  read({
    id: 'classes',
    name: `GET /student/me/classes, ${classesPerStudent} classes`,
    cards: (tokens) =>
      students(tokens).map((token) => bearer('/student/me/classes?when=all', token, '{"classes":[{')),
  }),
  {
    id: 'refresh',
    name: 'POST /session/refresh',
    limits: true,
    cards: (tokens) => veterinarians(tokens).map(({ refreshToken }) => ({ text: refreshToken })),
    traffic: (deck) => ({ kind: 'refresh', deck }),
  },
  {
    id: 'register',
    name: 'POST /veterinarian/register, limits off',
    limits: false,
    cards: () => [],
    traffic: () => ({ kind: 'register' }),
  },
  {
    id: 'sign-in',
    name: 'whole sign-in: send-otp, mail, validate-otp',
    limits: true,
    cards: (tokens) =>
      [...new Set(veterinarians(tokens).map(({ email }) => email))].map((text) => ({ text })),
    traffic: (deck) => ({ kind: 'sign-ins', deck, flow: 'chiron' }),
  },
]
