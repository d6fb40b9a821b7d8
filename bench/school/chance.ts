/**
 * Chance that repeats: every number follows from the seed and from what it is for, never from what was drawn before.
 * So any student can be made without making the others, and changing one thing changes nothing else.
 */

/** Whole numbers from 0 to below `limit`, one after the other. */
export type Draw = (limit: number) => number

function mix(hash: number, value: number): number {
  let mixed = Math.imul(hash ^ value, 0x9e3779b1)
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x85ebca6b)
  return (mixed ^ (mixed >>> 13)) >>> 0
}

function mixLabel(hash: number, label: string | number): number {
  if (typeof label === 'number') return mix(hash, label)
  let mixed = hash
  for (let i = 0; i < label.length; i++) mixed = mix(mixed, label.charCodeAt(i))
  return mixed
}

/** 32 bits, so not unique by themselves. */
export function hashOf(seed: number, ...labels: readonly (string | number)[]): number {
  return labels.reduce<number>(mixLabel, mix(0x2545f491, seed))
}

/** Mulberry32. */
export function drawFor(seed: number, ...labels: readonly (string | number)[]): Draw {
  let state = hashOf(seed, ...labels)
  return (limit) => {
    state = (state + 0x6d2b79f5) >>> 0
    let bits = Math.imul(state ^ (state >>> 15), state | 1)
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61)
    return Math.floor((((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32) * limit)
  }
}

export function pick<T>(draw: Draw, from: readonly T[]): T {
  return from[draw(from.length)]!
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b)
}

/** A shuffle of 0 … count − 1 that needs no memory: each number's place in it. */
export function shuffle(seed: number, label: string, count: number): (i: number) => number {
  const draw = drawFor(seed, label, count)
  let step = 1 + draw(count)
  while (greatestCommonDivisor(step, count) !== 1) step++
  const offset = draw(count)
  return (i) => (i * step + offset) % count
}
