/**
 * Which limits a code counts against, and whether they have room.
 *
 * A code counts against the quota of the device that asked, or else against the inbox and its pair with the network. The
 * inbox is charged only while the pair has room, so a network that used up its own share cannot use up the inbox's. A
 * network where the inbox has signed in before charges neither the inbox nor the whole service.
 */
import {
  freeAt,
  isEmpty,
  oneLess,
  windowsFreeAt,
  windowsHaveRoom,
  withTime,
} from '../../platform/lib/limit.ts'
import { deviceQuota, devicesQuota, inboxBucket, moverQuota, pairQuota, type Quota } from './policies.ts'

export interface CodeAsk {
  readonly inbox: string
  readonly network: string
  readonly device: string | null
  /** The signed-in person who requests a code for a new address. */
  readonly moverId: string | null
}

/** The state of all these limits. */
export interface CodeCounts {
  readonly inboxFullAt: number
  /** By the key of a quota. */
  readonly times: ReadonlyMap<string, string>
  /** Whether the inbox has signed in from this network before. */
  readonly isKnown: boolean
}

/** The rows after a code was taken. */
export interface TakenCode {
  readonly inboxFullAt: number | null
  readonly times: readonly TakenTimes[]
}

export interface TakenTimes {
  readonly key: string
  readonly times: string
  readonly isNew: boolean
}

export function quotasOf({ inbox, network, device, moverId }: CodeAsk): Quota[] {
  const own = device === null ? [pairQuota(inbox, network)] : [devicesQuota(inbox), deviceQuota(device)]
  return moverId === null ? own : [moverQuota(moverId), ...own]
}

export const isStranger = ({ device }: CodeAsk, { isKnown }: CodeCounts) => device === null && !isKnown

type Times = { readonly times: string }

/** The first of these quotas that has no room. */
export function fullOf<Name extends string>(
  quotas: { readonly [N in Name]?: Quota },
  counts: { readonly [N in Name]?: Times },
  now: number,
): Name | null {
  const named = Object.entries(quotas) as [Name, Quota][]
  const full = named.find(([name, { windows }]) => !windowsHaveRoom(windows, counts[name]?.times ?? '', now))
  return full?.[0] ?? null
}

/** The rows after one was taken from each. */
export function takeEach<Name extends string>(
  quotas: { readonly [N in Name]?: Quota },
  counts: { readonly [N in Name]?: Times },
  now: number,
): TakenTimes[] {
  const named = Object.entries(quotas) as [Name, Quota][]
  return named.map(([name, { key, windows }]) => ({
    key,
    times: withTime(windows, counts[name]?.times ?? '', now),
    isNew: false,
  }))
}

/** Null if a limit has no room. */
export function takeCode(ask: CodeAsk, counts: CodeCounts, now: number): TakenCode | null {
  const timesOf = ({ key }: Quota) => counts.times.get(key) ?? ''
  const quotas = quotasOf(ask)
  if (!quotas.every((quota) => windowsHaveRoom(quota.windows, timesOf(quota), now))) return null
  const inbox = inboxBucket(ask.inbox)
  const charges = isStranger(ask, counts)
  if (charges && isEmpty(inbox, counts.inboxFullAt, now)) return null
  return {
    inboxFullAt: charges ? oneLess(inbox, counts.inboxFullAt, now) : null,
    times: quotas.map((quota) => ({
      key: quota.key,
      times: withTime(quota.windows, timesOf(quota), now),
      isNew: !counts.times.has(quota.key),
    })),
  }
}

/** When all of them have room again. */
export function codeFreeAt(ask: CodeAsk, counts: CodeCounts): number {
  const quotas = quotasOf(ask).map(({ key, windows }) => windowsFreeAt(windows, counts.times.get(key) ?? ''))
  const inbox = isStranger(ask, counts) ? freeAt(inboxBucket(ask.inbox), counts.inboxFullAt) : 0
  return Math.max(inbox, ...quotas)
}
