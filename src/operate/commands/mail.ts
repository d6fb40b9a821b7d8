/** `chiron mail …`: delivery records, a test of the mail server, and bounces from a pipe. */
import { smtpSettingsOf } from '../../config.ts'
import { UsageError } from '../../errors.ts'
import type { Features } from '../../features.ts'
import { states, waiting } from '../../messages/delivery/delivery.ts'
import { hookSecret } from '../../messages/delivery/hook.ts'
import { bySystem } from '../../platform/lib/by.ts'
import {
  addressFrom,
  type CommonOptions,
  configFor,
  numberFrom,
  say,
  timeFrom,
  visible,
  withFeatures,
} from './command.ts'
import { timelineOf } from './delivery-text.ts'

interface ListOptions extends CommonOptions {
  readonly failed?: boolean
  readonly state?: string
  readonly since?: string
  readonly after?: string
  readonly limit?: string
}

export async function showMail(address: string, options: ListOptions): Promise<void> {
  const { email } = addressFrom(address)
  await withFeatures(options, (features) =>
    print(features, { email }, options, `No mail to ${email} in the last 30 days.`),
  )
}

export async function listMail(options: ListOptions): Promise<void> {
  if (options.failed && options.state !== undefined)
    throw new UsageError('--failed is the same as --state failed; give one of the two')
  const state = options.failed ? 'failed' : options.state
  if (state !== undefined && !searchStates.includes(state))
    throw new UsageError(`--state must be one of ${searchStates.join(', ')}`)
  await withFeatures(options, (features) =>
    print(features, { ...(state && { state }) }, options, 'No mails match.'),
  )
}

const searchStates: readonly string[] = [...states, waiting]

async function print(
  { deliveries, clock }: Features,
  about: { email?: string; state?: string },
  options: ListOptions,
  none: string,
): Promise<void> {
  const limit = numberFrom('--limit', options.limit ?? '50', 1, 1_000)
  const { since, after } = options
  const found = await deliveries.find({
    ...about,
    ...(since !== undefined && { since: timeFrom('--since', since, clock.now()) }),
    ...(after !== undefined && { after }),
    limit,
  })
  if (options.json) return say(options, found, '')
  if (found.deliveries.length === 0) return say(options, {}, none)
  // Oldest first, as people read: the newest is next to the prompt.
  say(options, {}, found.deliveries.toReversed().flatMap(timelineOf).join('\n'))
  if (found.next !== null) say(options, {}, `There are older mails: add --after ${found.next}`)
}

export async function testMail(address: string, options: CommonOptions): Promise<void> {
  const to = addressFrom(address).email
  const config = configFor(options)
  const settings = smtpSettingsOf(config)
  if (settings === null)
    throw new UsageError('CHIRON_SMTP_URL is not set: without a mail server, mail is shown at /mailbox')
  const { smtpTransport } = await import('../../messages/mail/smtp.ts')
  const { sendTestMail } = await import('../../messages/mail/test-mail.ts')
  const transport = smtpTransport(settings)
  const { mailFrom: from, publicUrl } = config
  const mail = { to, from, publicUrl, sentBy: 'an operator', now: Date.now() }
  const { server, taken, reply, advice } = await sendTestMail(transport, mail).finally(() =>
    transport.close(),
  )
  if (!taken) throw new UsageError(`${server} did not accept the mail: ${visible(reply)}. ${advice}`)
  say(options, { server, taken, reply }, `${server} accepted the mail to ${to}: “${visible(reply)}”`)
}

const dsnBytesMax = 1024 * 1024

/** Its own exit code: a mail server may drop such a mail, but should retry after any other failure. */
const notOurs = (message: string) => new UsageError(message, 3)

interface BouncedOptions extends CommonOptions {
  readonly setup?: boolean
}

export async function bouncedMail(options: BouncedOptions): Promise<void> {
  if (options.setup) return withFeatures(options, async (features) => printSetup(features, options))
  if (process.stdin.isTTY)
    throw new UsageError('pass a notification on stdin: chiron mail bounced < dsn.eml; see also --setup')
  const { readDsn } = await import('../../messages/delivery/dsn.ts')
  const told = await readDsn(await readAll(process.stdin))
  if (told === undefined)
    throw notOurs('this is not a delivery status notification (RFC 3464), so nothing was marked')
  if (told === 'delivered')
    return say(options, { marked: false }, 'The notification reports no failure; nothing was marked.')
  await withFeatures(options, async ({ deliveries }) => {
    const deliveryId = await deliveries.bounced(told, bySystem)
    if (deliveryId === undefined)
      throw notOurs('the notification does not match any mail sent in the last 30 days')
    const { hard } = told
    say(
      options,
      { marked: true, deliveryId, hard },
      `Mail ${deliveryId} is marked as ${hard ? 'permanently' : 'temporarily'} bounced.`,
    )
  })
}

async function readAll(stream: NodeJS.ReadStream): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of stream) {
    bytes += chunk.length
    if (bytes > dsnBytesMax) throw notOurs('the notification is larger than 1 MiB, so it was not read')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function printSetup({ secrets }: Features, options: BouncedOptions): void {
  const config = configFor(options)
  const hook = {
    url: `${config.publicUrl}/hooks/bounces`,
    user: 'bounces',
    password: hookSecret(secrets.current),
  }
  const { host, protocol } = new URL(hook.url)
  const sender = config.mailBounces
    ? `Bounces go to bounce+…@${config.mailBounces}: let its mail server pipe them into "chiron mail bounced".`
    : 'Bounces go to the address in CHIRON_MAIL_FROM. Set CHIRON_MAIL_BOUNCES to a domain whose mail server pipes them into "chiron mail bounced".'
  say(
    options,
    { hook, bounces: config.mailBounces },
    [
      sender,
      '',
      `Or let your mail provider (Amazon SES, Postmark, Mailgun) post bounces to ${hook.url}`,
      `  with the header   Authorization: Bearer ${hook.password}`,
      `  or as the address ${protocol}//${hook.user}:${hook.password}@${host}/hooks/bounces`,
      'Anyone with this secret can mark mails as bounced. It changes with CHIRON_SECRET.',
    ].join('\n'),
  )
}
