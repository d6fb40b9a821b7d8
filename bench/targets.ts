/** What the service is meant to reach, one process on one core, and whether it did. */
import type { Results } from './measure.ts'
import { type Engine, engines } from './stores.ts'

export interface Target {
  readonly name: string
  readonly engine: Engine
  readonly wanted: number
  readonly direction: 'at least' | 'at most'
  readonly unit: string
  readonly measured: number | null
  readonly met: boolean
}

type Wanted = [
  name: string,
  direction: Target['direction'],
  wanted: number,
  unit: string,
  measured: number | null,
]

function wantedOf(engine: Engine, results: Results): Wanted[] {
  const ratio = (id: string) =>
    results.rows.find((row) => row.id === `${engine}/${id}`)?.ratio?.median ?? null
  const compared = (name: string) => results.comparisons[`${engine}/${name}`]?.median ?? null
  const half = (id: string) => results.halfLoad.find((load) => load.id === `${engine}/${id}`)!.p99Ms
  const once = results.once.find((one) => one.engine === engine)!
  const [least, most] = [results.sizes.accounts[0], results.sizes.accounts.at(-1)!]
  const growth = (id: string) => compared(`${id}: ${most} accounts to ${least}`)
  const sizes = `${most.toLocaleString('en')} accounts against ${least.toLocaleString('en')}`
  return [
    ['GET /veterinarian/me', 'at least', 0.5, 'of bare', ratio('me')],
    ['GET /student/me', 'at least', 0.5, 'of bare', ratio('student')],
    ['GET /veterinarian/{userId}', 'at least', 0.55, 'of bare', ratio('profile')],
    ['GET /veterinarian/{userId}, 304', 'at least', 0.6, 'of bare', ratio('not-modified')],
    ['GET /student/me/classes, 12 classes', 'at least', 0.3, 'of bare', ratio('classes')],
    ['whole sign-in, limits on', 'at least', 0.04, 'of bare', ratio('sign-in-limited')],
    [
      'whole sign-in, limits on',
      'at least',
      15,
      '× Better Auth',
      compared('sign-in-limited: to Better Auth'),
    ],
    ['GET /veterinarian/me', 'at least', 30, '× Better Auth', compared('me: to Better Auth')],
    [`GET /veterinarian/me, ${sizes}`, 'at least', 0.9, '', growth('me')],
    [`GET /veterinarian/{userId}, ${sizes}`, 'at least', 0.9, '', growth('profile')],
    [`whole sign-in, ${sizes}`, 'at least', 0.9, '', growth('sign-in')],
    ['GET /veterinarian/me, p99 at half load', 'at most', 10, 'ms', half('me')],
    ['whole sign-in, p99 of a request at half load', 'at most', 10, 'ms', half('sign-in')],
    ['cold start to the first 200', 'at most', 1_000, 'ms', once.startMs],
    ['idle memory', 'at most', 120, 'MB', once.idleMb],
    [
      `memory after ${once.loadedAfterRequests.toLocaleString('en')} requests`,
      'at most',
      300,
      'MB',
      once.loadedMb,
    ],
    ['roster import', 'at least', 20_000, 'rows/s', once.rosterRowsPerSecond],
  ]
}

export function targets(results: Results): Target[] {
  const all = engines.map((engine) => ({ engine, wanted: wantedOf(engine, results) }))
  return all[0]!.wanted.flatMap((_, i) =>
    all.map(({ engine, wanted: list }) => {
      const [name, direction, wanted, unit, measured] = list[i]!
      const met = measured !== null && (direction === 'at least' ? measured >= wanted : measured <= wanted)
      return { name, engine, wanted, direction, unit, measured, met }
    }),
  )
}
