/** The differences between two recordings, each in one line. */
import { isDeepStrictEqual } from 'node:util'
import type { Recording, Verdict } from './record.ts'

const shownMax = 160
const linesOfOneMax = 12

/** The differences of a scenario stand below its name. */
export function* differences(before: Recording, after: Recording): Generator<string> {
  for (const name of new Set([...before.keys(), ...after.keys()])) {
    const [one, other] = [before.get(name), after.get(name)]
    if (one === undefined || other === undefined) {
      yield `${name}: only ${one === undefined ? 'after' : 'before'}`
      continue
    }
    if (one === other) continue
    const found = [...differingSteps(JSON.parse(one), JSON.parse(other))]
    if (found.length === 0) continue
    yield name
    yield* found.slice(0, linesOfOneMax).map((line) => `  ${line}`)
    if (found.length > linesOfOneMax) yield `  and ${found.length - linesOfOneMax} more`
  }
}

function* differingSteps(before: readonly Verdict[], after: readonly Verdict[]): Generator<string> {
  for (const [i, one] of before.entries()) {
    const other = after[i]
    if (other?.run !== one.run) {
      yield `step ${i + 1}: ${one.run} → ${other?.run ?? 'nothing'}`
      return
    }
    const whole = (verdict: Verdict, all: readonly Verdict[]) => {
      const { state, ...rest } = verdict
      return { ...rest, state: typeof state === 'number' ? all[state - 1]?.state : state }
    }
    for (const line of between(whole(one, before), whole(other, after), ''))
      yield `step ${i + 1}, ${one.run.replace(/--allow \S+/, '--allow …')}: ${line}`
  }
}

function* between(before: unknown, after: unknown, path: string): Generator<string> {
  if (isDeepStrictEqual(before, after)) return
  if (!isObject(before) || !isObject(after)) {
    yield `${path || 'all'}: ${short(before)} → ${short(after)}`
    return
  }
  if (Array.isArray(before) && Array.isArray(after) && before.length !== after.length) {
    const [texts, others] = [before, after].map((all) => all.map((one) => JSON.stringify(one))) as [
      string[],
      string[],
    ]
    for (const one of without(texts, others)) yield `${path}: ${short(JSON.parse(one))} → nothing`
    for (const one of without(others, texts)) yield `${path}: nothing → ${short(JSON.parse(one))}`
    return
  }
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)]))
    yield* between(before[name], after[name], path === '' ? name : `${path}.${name}`)
}

/** The texts of the one that the other has less often. */
function without(texts: readonly string[], others: readonly string[]): string[] {
  const rest = new Map<string, number>()
  for (const text of others) rest.set(text, (rest.get(text) ?? 0) + 1)
  return texts.filter((text) => {
    const left = rest.get(text) ?? 0
    rest.set(text, left - 1)
    return left <= 0
  })
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null

function short(value: unknown): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value)
  return text.length > shownMax ? `${text.slice(0, shownMax)}…` : text
}
