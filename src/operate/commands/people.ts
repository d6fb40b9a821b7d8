/** `chiron people …`: what staff do in the console, on the command line. */
import { UsageError } from '../../errors.ts'
import { byOperator } from '../../platform/lib/by.ts'
import { servedRoles } from '../../roles.ts'
import { addressFrom, type CommonOptions, numberFrom, say, table, visible, withFeatures } from './command.ts'
import { timelineOf } from './delivery-text.ts'
import { printJson } from './output.ts'

interface FindOptions extends CommonOptions {
  readonly role?: string
  readonly status?: string
  readonly after?: string
  readonly limit?: string
}

export async function findPeople(text: string, options: FindOptions): Promise<void> {
  const role = servedRoles.find((each) => each === options.role)
  if (options.role !== undefined && !role) throw new UsageError(`--role must be ${servedRoles.join(' or ')}`)
  const { status, after } = options
  const limit = numberFrom('--limit', options.limit ?? '50', 1, 1_000)
  await withFeatures(options, async ({ support }) => {
    const { people, next, similar } = await support.find({
      text,
      limit,
      ...(role && { role }),
      ...(status !== undefined && { status }),
      ...(after !== undefined && { after }),
    })
    if (options.json) return say(options, { people, next, similar }, '')
    if (people.length === 0) return say(options, {}, 'Nobody was found.')
    if (similar) say(options, {}, 'Nobody was found. Similar names:\n')
    const rows = people.map((one) => [
      one.userId,
      one.role,
      one.status,
      `${one.firstname} ${one.lastname}`,
      one.email,
      one.studentNumber ?? '',
    ])
    say(options, {}, table([['id', 'role', 'status', 'name', 'address', 'number'], ...rows]))
    if (next !== null) say(options, {}, `There are more: add --after ${next}`)
  })
}

export async function showPerson(who: string, options: CommonOptions): Promise<void> {
  await withFeatures(options, async ({ support }) => {
    const person = await support.show(await support.idOf(who))
    if (options.json) return say(options, person, '')
    const { profile, sessions, deliveries, events } = person
    const { verificationLost: lost, ...plain } = profile
    const facts = Object.entries(plain).map(([name, value]) => [`  ${name}`, String(value ?? '')])
    if (lost) facts.push(['  check again', `was verified; the ${lost.because} changed on ${lost.at}`])
    const live = sessions.filter(({ endedAt }) => endedAt === null)
    const lines = [
      table(facts),
      '',
      `Sessions (${live.length} of ${sessions.length} open)`,
      table(
        sessions.map((one) => [`  ${one.startedAt}`, one.device, one.endedAt ?? 'open', one.endReason ?? '']),
      ),
      '',
      `Mails (${deliveries.length} in the last 30 days)`,
      ...deliveries
        .toReversed()
        .flatMap(timelineOf)
        .map((line) => `  ${line}`),
      '',
      'Events',
      table(events.map((one) => [`  ${one.at}`, one.type, `by ${one.actor}`, one.note ?? ''])),
    ]
    say(options, {}, lines.join('\n'))
  })
}

interface ReasonOptions extends CommonOptions {
  readonly reason?: string
  readonly note?: string
  readonly yes?: boolean
}

type Support = Parameters<Parameters<typeof withFeatures>[1]>[0]['support']

/** Carries out one action and prints the result. */
async function act(
  who: string,
  options: ReasonOptions,
  { done, unchanged }: { readonly done: string; readonly unchanged: string },
  work: (support: Support, userId: string) => Promise<boolean>,
): Promise<void> {
  await withFeatures(options, async ({ support }) => {
    const userId = await support.idOf(who)
    const changed = await work(support, userId)
    say(options, { userId, changed }, `${visible(who)} ${changed ? done : unchanged}.`)
  })
}

function needed(name: string, text: string | undefined): string {
  if (text?.trim()) return text
  throw new UsageError(`give a reason with ${name} "…"; it is kept in the audit trail`)
}

export function suspendPerson(who: string, options: ReasonOptions): Promise<void> {
  const reason = needed('--reason', options.reason)
  const done = 'is suspended and signed out everywhere; "chiron people reactivate" undoes this'
  return act(who, options, { done, unchanged: 'was already suspended' }, (support, id) =>
    support.suspend(id, reason, byOperator),
  )
}

export function reactivatePerson(who: string, options: ReasonOptions): Promise<void> {
  return act(who, options, { done: 'can sign in again', unchanged: 'was already active' }, (support, id) =>
    support.reactivate(id, options.reason ?? null, byOperator),
  )
}

export function signOutPerson(who: string, options: ReasonOptions): Promise<void> {
  return act(
    who,
    options,
    { done: 'is signed out everywhere', unchanged: 'was not signed in' },
    async (support, id) => (await support.signOut(id, byOperator)) > 0,
  )
}

export function verifyPerson(who: string, options: ReasonOptions): Promise<void> {
  return act(who, options, { done: 'is verified', unchanged: 'was already verified' }, (support, id) =>
    support.verify(id, options.note ?? null, byOperator),
  )
}

export function unverifyPerson(who: string, options: ReasonOptions): Promise<void> {
  return act(who, options, { done: 'is no longer verified', unchanged: 'was not verified' }, (support, id) =>
    support.unverify(id, options.note ?? null, byOperator),
  )
}

export function changeAddressOf(who: string, address: string, options: ReasonOptions): Promise<void> {
  const to = addressFrom(address)
  const done = `now has the address ${to.email}, and is signed out everywhere; both addresses are notified by mail. If verified before, the account must be verified again`
  return act(who, options, { done, unchanged: 'already has this address' }, (support, id) =>
    support.changeAddress(id, to, options.reason ?? null, byOperator),
  )
}

export function closePerson(who: string, options: ReasonOptions): Promise<void> {
  const reason = needed('--reason', options.reason)
  if (!options.yes)
    throw new UsageError('closing erases the account and cannot be undone; add --yes to go ahead')
  const done = 'is closed, and all personal data is erased'
  return act(who, options, { done, unchanged: '' }, async (support, id) => {
    await support.close(id, reason, byOperator)
    return true
  })
}

export async function exportPerson(who: string, options: CommonOptions): Promise<void> {
  await withFeatures(options, async ({ support }) => {
    const everything = await support.export(await support.idOf(who))
    printJson(everything, options.json ? 0 : 2)
  })
}

export async function listPasskeys(who: string, options: CommonOptions): Promise<void> {
  await withFeatures(options, async ({ support, passkeys }) => {
    const list = await passkeys.own.list(await support.idOf(who))
    if (options.json) return say(options, { passkeys: list }, '')
    if (list.length === 0) return say(options, {}, `${visible(who)} has no passkeys.`)
    const rows = list.map((one) => [
      one.passkeyId,
      one.name,
      one.provider ?? '',
      one.createdAt,
      one.lastUsedAt ?? 'never',
    ])
    say(options, {}, table([['id', 'name', 'provider', 'added', 'last used'], ...rows]))
  })
}

export async function removePasskey(who: string, passkeyId: string, options: CommonOptions): Promise<void> {
  await withFeatures(options, async ({ support, passkeys }) => {
    const userId = await support.idOf(who)
    await passkeys.own.remove(userId, passkeyId, { by: byOperator, sessionId: null })
    const done = `The passkey is removed, and ${visible(who)} gets a mail. Open sessions stay open; "chiron people sign-out" ends them.`
    say(options, { userId, passkeyId }, done)
  })
}
