/** What the service is meant to reach, and whether the figures say so. */
import type { Results } from './results.ts'
import type { Spread } from './statistics.ts'
import { type Engine, engines } from './stores.ts'

export interface Target {
  readonly name: string
  readonly engine: Engine
  readonly wanted: string
  readonly value: Spread | null
  readonly verdict: 'met' | 'missed' | 'not to be told' | 'not measured'
}

type Wanted = [name: string, sign: '≥' | '≤', limit: number, unit: string, value: Spread | undefined]

function wantedOf(engine: Engine, { figures, pairs, singles, accounts }: Results): Wanted[] {
  const is = { sqlite: engine === 'sqlite', postgres: engine === 'postgres' }
  const figure = (id: string) =>
    figures.find(
      (one) =>
        one.service === 'Chiron' &&
        one.id === id &&
        one.engine === engine &&
        one.workers === 1 &&
        one.accounts === accounts[1],
    )
  const growth = (id: string) =>
    pairs.find((pair) => pair.what === 'accounts' && pair.id === id && pair.engine === engine)?.cost
  const single = (id: string) => singles.find((one) => one.id === id && one.engine === engine)
  const inMs = (value: Spread | null | undefined): Spread | undefined =>
    value
      ? (Object.fromEntries(Object.entries(value).map(([key, micros]) => [key, micros / 1000])) as never)
      : undefined
  const sizes = accounts
    .toReversed()
    .map((count) => count.toLocaleString('en'))
    .join(' against ')
  return [
    ['GET /veterinarian/me', '≥', is.sqlite ? 0.45 : 0.36, 'of bare', figure('me')?.ratio],
    ['GET /student/me/classes', '≥', 0.3, 'of bare', figure('classes')?.ratio],
    ['whole sign-in', '≤', is.sqlite ? 0.7 : 1, 'ms', inMs(figure('sign-in')?.cpuMicros)],
    ...(is.postgres
      ? [['… of the database server', '≤', 1.5, 'ms', inMs(figure('sign-in')?.storeMicros)] as Wanted]
      : []),
    ...['me', 'sign-in'].map(
      (id): Wanted => [`${figure(id)?.name ?? id}, ${sizes} accounts`, '≤', 1.15, '×', growth(id)],
    ),
    ...['me', 'sign-in'].map(
      (id): Wanted => [
        `${figure(id)?.name ?? id}, p99 at half load`,
        '≤',
        5,
        '× bare',
        single(`half-load-${id}-ratio`)?.value,
      ],
    ),
    [single('memory')?.name ?? 'memory under load', '≤', 250, 'MB', single('memory')?.value],
    ['a fresh worker at nine tenths of its speed', '≤', 2, 's', single('waking')?.value],
  ]
}

export function targets(results: Results): Target[] {
  return engines.flatMap((engine) =>
    wantedOf(engine, results).map(([name, sign, limit, unit, value]): Target => {
      const wanted = `${sign} ${limit} ${unit}`
      if (!value) return { name, engine, wanted, value: null, verdict: 'not measured' }
      const [worst, best] = sign === '≥' ? [value.low, value.high] : [-value.high, -value.low]
      const line = sign === '≥' ? limit : -limit
      const verdict = worst >= line ? 'met' : best < line ? 'missed' : 'not to be told'
      return { name, engine, wanted, value, verdict }
    }),
  )
}
