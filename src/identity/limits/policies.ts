/**
 * Every limit that is kept in the store, as data: its name, how much it allows, and the texts of its keys, which hold
 * fingerprints. The release before reads the same rows, so the texts stay as they are. Contract: docs/integrating.md.
 */
import { type BucketPolicy, type CallerNetwork, rateOf } from '../../platform/lib/bucket.ts'
import { day, hour, minute } from '../../platform/lib/clock.ts'
import { type Bucket, type Limit, type Quota, refillMs, type Window } from '../../platform/lib/limit.ts'

/** For each network. Wider networks have several times as much. */
export const networkPolicies = {
  send: { name: 'send-otp', burst: 600, refillPerMinute: 120 },
  validate: { name: 'validate-otp', burst: 1200, refillPerMinute: 240 },
  register: { name: 'register', burst: 100, refillPerMinute: 20 },
  passkeyOptions: { name: 'passkey-options', burst: 600, refillPerMinute: 120 },
  passkeyValidate: { name: 'passkey-validate', burst: 1200, refillPerMinute: 240 },
  schoolStart: { name: 'school-start', burst: 600, refillPerMinute: 120 },
  schoolAnswer: { name: 'school-answer', burst: 1200, refillPerMinute: 240 },
} as const satisfies Record<string, BucketPolicy>

/** For the whole service. */
export const servicePolicies = {
  register: { name: 'register', burst: 5_000, refillPerMinute: 1_000 },
  /** Codes requested from devices and networks that are unknown for the address. */
  codes: { name: 'codes', burst: 20_000, refillPerMinute: 4_000 },
  /** Answers of providers, each of which costs requests to one. */
  school: { name: 'school', burst: 20_000, refillPerMinute: 4_000 },
  /** Events of refused sign-ins in which the school's provider has named nobody: 2,440 a day. */
  schoolRefusals: { name: 'school-refusals', burst: 1_000, refillPerMinute: 1 },
  /** Events of refused sign-ins of people at the school's own provider: 19,400 a day. */
  namedSchoolRefusals: { name: 'named-school-refusals', burst: 5_000, refillPerMinute: 10 },
  /** Events of codes with five wrong answers: 12,200 a day. */
  exhausted: { name: 'exhausted', burst: 5_000, refillPerMinute: 5 },
  /** Wrong secrets of applications that are counted: 149,000 a day. Nobody guesses 256 bits beyond it. */
  wrongSecrets: { name: 'wrong-secrets', burst: 5_000, refillPerMinute: 100 },
} as const satisfies Record<string, BucketPolicy>

/** Codes for one inbox from all networks: 60 a day. A stranger who uses them up delays the owner by minutes, not a day. */
const inboxPolicy: BucketPolicy = { name: 'inbox', burst: 20, refillPerMinute: 1 / 24 }

/** Every limit that can refuse a request. */
export const limitNames = [
  ...Object.values(networkPolicies).map(({ name }) => name),
  ...['client', 'service', 'codes', 'resends', 'network', 'session'],
]

/**
 * Mails in an hour to addresses without a confirmed account: over all domains, to one, and to one that the school uses.
 * Mails without a code use up only half of it, so that strangers who request them cannot prevent first sign-ins.
 */
export const strangersMails = { service: 2_000, domain: 200, knownDomain: 2_000 } as const
const noticesShare = 1 / 2

export const networkKnownMs = 90 * day

// The owner comes first, so that the buckets of one request are neighbours in the index.
export const bucketOf = (policy: BucketPolicy, owner: string, shares = 1): Bucket => ({
  key: `${owner}:${policy.name}`,
  burst: policy.burst * shares,
  intervalMs: Math.round(rateOf(policy).intervalMs / shares),
})
export const serviceBucket = (policy: BucketPolicy) => bucketOf(policy, 'service')
export const inboxBucket = (inbox: string) => bucketOf(inboxPolicy, inbox)

/** Those of the network itself and of the wider ones around it, narrowest first. */
export function networkBuckets(policy: BucketPolicy, { fingerprint, wider }: CallerNetwork): Bucket[] {
  return [{ fingerprint, shares: 1 }, ...wider].map((one) => bucketOf(policy, one.fingerprint, one.shares))
}

/** How long a bucket takes to fill, by the end of its key. */
export const refillTimes: ReadonlyMap<string, number> = new Map(
  [...Object.values(networkPolicies), ...Object.values(servicePolicies), inboxPolicy].map((policy) => [
    bucketOf(policy, '').key,
    refillMs(rateOf(policy)),
  ]),
)

const quota = (key: string, ...windows: Window[]): Quota => ({ key, windows })
const within = (windowMs: number, max: number): Window => ({ max, windowMs })

/** Codes of one device. */
const deviceQuota = (device: string) => quota(`device:${device}`, within(15 * minute, 5), within(day, 40))
/** Of all devices of an inbox: every sign-in without a device token creates one, and they live long. */
const devicesQuota = (inbox: string) => quota(`devices:${inbox}`, within(15 * minute, 20), within(day, 160))
const pairQuota = (inbox: string, network: string) => quota(`${inbox}:${network}`, within(15 * minute, 5))
/** Codes that one person can request for new addresses, so that nobody can mail many strangers. */
export const moverQuota = (person: string) =>
  quota(`mover:${person}`, within(15 * minute, 10), within(day, 20))
/** Code mails to an unconfirmed inbox, so that nobody can mail strangers by registering them. */
const firstCodesQuota = (inbox: string) => quota(`first:${inbox}`, within(day, 3))
/** Wrong secrets of one client, from one network. */
export const secretQuota = (clientId: string, network: string) =>
  quota(`client:${clientId}:${network}`, within(10 * minute, 20))

export interface CodeAsk {
  readonly inbox: string
  readonly network: string
  readonly device: string | null
  /** The signed-in person who requests a code for a new address. */
  readonly moverId: string | null
}

/**
 * What a code counts against: the quota of the device that asked, or else the pair of inbox and network. A stranger, neither
 * of whose device and network `isKnown`, also takes from the inbox, and from what all strangers share. Own limits are taken
 * only if all of them have room, so a network that used up its pair cannot use up the inbox.
 */
export function limitsOfCode({ inbox, network, device, moverId }: CodeAsk, isKnown: boolean) {
  const isStranger = device === null && !isKnown
  const own: Limit[] = [
    ...(moverId === null ? [] : [moverQuota(moverId)]),
    ...(device === null ? [pairQuota(inbox, network)] : [devicesQuota(inbox), deviceQuota(device)]),
    ...(isStranger ? [inboxBucket(inbox)] : []),
  ]
  return { own, shared: isStranger ? [serviceBucket(servicePolicies.codes)] : [] }
}

/** A mail to an address without a confirmed account. Its inbox and domain are fingerprints. */
export interface StrangersMail {
  readonly inbox: string
  readonly domain: string
  /** Whether the school uses the domain. */
  readonly isKnown: boolean
  readonly hasCode: boolean
}

export interface StrangersQuota extends Quota {
  readonly name: 'inbox' | 'service' | 'domain'
}

/** In the order in which they refuse: waiting does not help where the inbox has had enough. */
export function strangersQuotas({ inbox, domain, isKnown, hasCode }: StrangersMail): StrangersQuota[] {
  const mailsTo = (owner: string, max: number) =>
    quota(`mails:${owner}`, within(hour, hasCode ? max : max * noticesShare))
  const ofDomain = isKnown ? strangersMails.knownDomain : strangersMails.domain
  return [
    ...(hasCode ? [{ name: 'inbox', ...firstCodesQuota(inbox) } as const] : []),
    { name: 'service', ...mailsTo('service', strangersMails.service) },
    { name: 'domain', ...mailsTo(domain, ofDomain) },
  ]
}
