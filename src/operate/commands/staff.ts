/** `chiron staff …`: members of staff and their rights. */
import { UsageError } from '../../errors.ts'
import { parseOwnName } from '../../identity/people/names.ts'
import { byOperator } from '../../platform/lib/by.ts'
import { type Right, rights } from '../../roles.ts'
import { addressFrom, type CommonOptions, say, table, withFeatures } from './command.ts'

interface StaffOptions extends CommonOptions {
  readonly name?: string
  readonly may?: string
}

export async function addStaff(address: string, options: StaffOptions): Promise<void> {
  const to = addressFrom(address)
  if (options.name === undefined) throw new UsageError('give the name, with --name "Ada Lovelace"')
  if (options.may === undefined) throw new UsageError(`give their rights with --may ${rights.join(',')}`)
  const fields = { ...namesFrom(options.name), may: rightsFrom(options.may) }
  await withFeatures(options, async ({ staff }, config) => {
    const member = await staff.add(to, fields, byOperator)
    say(
      options,
      member,
      `${member.email} may now ${member.may.join(', ')}, and can sign in at ${config.publicUrl}/console.`,
    )
  })
}

export async function listStaff(options: CommonOptions): Promise<void> {
  await withFeatures(options, async ({ staff }) => {
    const members = await staff.list()
    if (options.json) return say(options, { members }, '')
    if (members.length === 0)
      return say(options, {}, 'There are no members of staff; "chiron staff add" adds one.')
    const rows = members.map((one) => [
      one.userId,
      one.email,
      `${one.firstname} ${one.lastname}`.trim(),
      one.may.join(','),
    ])
    say(options, {}, table([['id', 'address', 'name', 'may'], ...rows]))
  })
}

export async function changeStaff(who: string, options: StaffOptions): Promise<void> {
  if (options.name === undefined && options.may === undefined)
    throw new UsageError('give the change with --name or --may')
  const change = {
    ...(options.name !== undefined && namesFrom(options.name)),
    ...(options.may !== undefined && { may: rightsFrom(options.may) }),
  }
  await withFeatures(options, async ({ staff }) => {
    const member = await staff.change((await staff.find(who)).id, change, byOperator)
    say(options, member, `${member.email} may now ${member.may.join(', ')}.`)
  })
}

export async function removeStaff(who: string, options: CommonOptions): Promise<void> {
  await withFeatures(options, async ({ staff }) => {
    const { id, email } = await staff.find(who)
    await staff.remove(id, byOperator)
    say(options, { userId: id }, `${email} is no longer a member of staff, and is signed out everywhere.`)
  })
}

/** For somebody who lost their passkeys while staff must use one. */
export async function resetPasskeys(who: string, options: CommonOptions): Promise<void> {
  await withFeatures(options, async ({ staff, passkeys, sessions }, config) => {
    const { id, email } = await staff.find(who)
    const removed = await passkeys.own.removeAll(id, byOperator)
    await sessions.endAll(id, 'revoked', byOperator)
    const locked = config.staffPasskey === 'required' && !(await passkeys.adminHasOne())
    const warning = locked
      ? ' No admin has a passkey now: the service does not start again while CHIRON_STAFF_PASSKEY is required.'
      : ''
    const count = removed === 1 ? '1 passkey' : `${removed} passkeys`
    say(
      options,
      { userId: id, removed },
      `${email} has lost ${count} and is signed out everywhere; after a sign-in with a code they can add a new one.${warning}`,
    )
  })
}

/** The last word is the family name; a single word is a first name. */
function namesFrom(text: string): { firstname: string; lastname: string } {
  const name = parseOwnName(text)
  if (typeof name === 'string') throw new UsageError(`--name ${name}`)
  const words = name.name.split(/\s+/)
  const lastname = words.length > 1 ? words.pop()! : ''
  return { firstname: words.join(' '), lastname }
}

function rightsFrom(text: string): Right[] {
  return text.split(',').map((word) => {
    const right = rights.find((each) => each === word.trim())
    if (!right) throw new UsageError(`--may takes a comma-separated list of ${rights.join(', ')}`)
    return right
  })
}
