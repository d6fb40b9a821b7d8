/** `chiron keys …`: the keys that sign tokens. */
import { UsageError } from '../../errors.ts'
import { type SigningKeys, trustedMs } from '../../identity/session/keys.ts'
import { byOperator } from '../../platform/lib/by.ts'
import { type CommonOptions, say, table, visible, withFeatures } from './command.ts'

const none =
  'CHIRON_SECRET decrypts none of the signing keys, or there are none yet; "chiron serve" creates the first'

const meanings: Record<string, string> = {
  signs: 'signs now',
  next: 'published, signs later',
  old: 'verifies old tokens',
}

export async function listKeys(options: CommonOptions): Promise<void> {
  await withFeatures(options, async ({ keys }) => {
    const all = await keys.list()
    if (options.json) return say(options, { keys: all }, '')
    if (all.length === 0) throw new UsageError(none)
    const rows = all.map((key) => [
      key.kid,
      key.alg,
      key.createdAt,
      key.signsFrom,
      `${key.ageDays} days`,
      meanings[key.state]!,
    ])
    say(options, {}, table([['key', 'algorithm', 'created', 'signs from', 'age', 'state'], ...rows]))
  })
}

export async function revokeKeys(
  kid: string | undefined,
  options: CommonOptions & { readonly all?: boolean },
): Promise<void> {
  if ((kid !== undefined) === (options.all === true)) throw new UsageError('give the key, or --all')
  await withFeatures(options, ({ keys }) =>
    kid === undefined ? revokeAll(keys, options) : revokeKey(keys, kid, options),
  )
}

async function revokeKey(keys: SigningKeys, kid: string, options: CommonOptions): Promise<void> {
  if ((await keys.list()).length === 0) throw new UsageError(none)
  const revoked = await keys.revoke(kid, byOperator)
  if (!revoked) throw new UsageError(`no key has the id ${visible(kid)}; "chiron keys list" shows all keys`)
  const { signer, isNew } = revoked
  const lines = [
    `Key ${kid} is revoked. The service refuses its tokens within ${trustedMs / 1000} seconds; people stay signed in.`,
    isNew ? `Key ${signer} is new and signs now.` : `Key ${signer} signs as before.`,
    restartOthers,
  ]
  say(options, { revoked: kid, signer, isNew }, lines.join('\n'))
}

async function revokeAll(keys: SigningKeys, options: CommonOptions): Promise<void> {
  const signer = await keys.revokeAll(byOperator)
  const lines = [
    'All keys are revoked, and none of their tokens is accepted any more.',
    `Key ${signer} is new, is sealed under CHIRON_SECRET and signs now.`,
    restartOthers,
  ]
  say(options, { signer }, lines.join('\n'))
}

const restartOthers = 'Other programs that check tokens may keep public keys for some minutes: restart them.'

export async function rotateKeys(options: CommonOptions): Promise<void> {
  await withFeatures(options, async ({ keys, webhooks }) => {
    // With a wrong secret, the service could not use the new key.
    if ((await keys.list()).length === 0) throw new UsageError(none)
    await keys.reseal()
    await webhooks.reseal()
    if (!(await keys.rotate(byOperator)))
      throw new UsageError('the keys were rotated by another process just now; "chiron keys list" shows them')
    const [key, ...others] = newestOf(await keys.list())
    const lines = [
      `Key ${key!.kid} is published now and signs from ${key!.signsFrom}. Nobody is signed out.`,
      ...others.map(({ kid, alg }) => `So is key ${kid}, for ${alg}.`),
    ]
    say(options, { ...key, keys: [key, ...others] }, lines.join('\n'))
  })
}

/** The newest key of each algorithm. */
function newestOf(keys: Awaited<ReturnType<SigningKeys['list']>>) {
  return keys.filter(({ alg }, i) => keys[i + 1]?.alg !== alg)
}
