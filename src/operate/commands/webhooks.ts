/** `chiron webhooks …`: other programs that receive events. */
import { UsageError } from '../../errors.ts'
import type { Features } from '../../features.ts'
import { byOperator } from '../../platform/lib/by.ts'
import { type CommonOptions, say, table, timeFrom, visible, withFeatures } from './command.ts'

interface WebhookOptions extends CommonOptions {
  readonly url?: string
  readonly events?: string
  readonly since?: string
}

const secretIs = (secret: string) => `Its secret, which is not shown again: ${secret}`

export async function addWebhook(url: string, options: WebhookOptions): Promise<void> {
  if (options.events === undefined)
    throw new UsageError('give the event types with --events session.started,… or --events "*"')
  const events = eventsFrom(options.events)
  await withFeatures(options, async ({ webhooks }) => {
    const webhook = await webhooks.add({ url, events })
    say(options, webhook, `Webhook ${webhook.id} receives events from now on.\n${secretIs(webhook.secret)}`)
  })
}

export async function listWebhooks(options: CommonOptions): Promise<void> {
  await withFeatures(options, async ({ webhooks }) => {
    const all = await webhooks.list()
    if (options.json) return say(options, { webhooks: all }, '')
    if (all.length === 0) return say(options, {}, 'There are no webhooks; "chiron webhooks add" adds one.')
    const rows = all.map((one) => [one.id, one.url, one.events.join(','), String(one.waiting), stateOf(one)])
    say(options, {}, table([['id', 'url', 'events', 'waiting', 'state'], ...rows]))
  })
}

type Listed = Awaited<ReturnType<Features['webhooks']['list']>>[number]

const offBecause = {
  operator: 'disabled',
  gone: 'it answered 410',
  failing: 'no success for three days',
}

function stateOf({ disabledAt, disabledBecause, readable, failures, failingSince }: Listed): string {
  if (disabledBecause) return `off since ${disabledAt}: ${offBecause[disabledBecause]}`
  if (!readable) return 'its secret is sealed under another CHIRON_SECRET; rotate it'
  if (failures === 0) return 'well'
  return `failing since ${failingSince}, ${failures} ${failures === 1 ? 'failure' : 'failures'} in a row`
}

export async function listDeliveries(id: string, options: CommonOptions): Promise<void> {
  await withFeatures(options, async ({ webhooks }) => {
    const deliveries = await webhooks.deliveries(id)
    if (options.json) return say(options, { deliveries }, '')
    if (deliveries.length === 0) return say(options, {}, 'No deliveries yet.')
    const rows = deliveries.map((one) => [
      String(one.number),
      one.type ?? '',
      one.state,
      String(one.attempts),
      one.triedAt ?? '',
      one.error ?? String(one.status ?? ''),
      one.nextTryAt ?? '',
    ])
    const head = ['event', 'type', 'state', 'attempts', 'tried', 'answer', 'next try']
    say(options, {}, table([head, ...rows]))
  })
}

export async function changeWebhook(id: string, options: WebhookOptions): Promise<void> {
  const { url, events } = options
  if (url === undefined && events === undefined)
    throw new UsageError('give the change with --url or --events')
  await withFeatures(options, async ({ webhooks }) => {
    const changed = await webhooks.change(id, {
      ...(url !== undefined && { url }),
      ...(events !== undefined && { events: eventsFrom(events) }),
    })
    say(options, changed, `Webhook ${id} receives ${changed.events.join(', ')} at ${visible(changed.url)}`)
  })
}

export async function rotateWebhook(id: string, options: CommonOptions): Promise<void> {
  await withFeatures(options, async ({ webhooks }) => {
    const webhook = await webhooks.rotate(id)
    say(options, webhook, `For a day, requests are signed with both secrets.\n${secretIs(webhook.secret)}`)
  })
}

export async function switchWebhook(id: string, enabled: boolean, options: CommonOptions): Promise<void> {
  await withFeatures(options, async ({ webhooks }) => {
    const webhook = await webhooks.change(id, { enabled })
    const text = enabled
      ? `Webhook ${id} receives events from now on; "chiron webhooks replay" sends the ones it missed.`
      : `Webhook ${id} receives nothing until "chiron webhooks enable".`
    say(options, webhook, text)
  })
}

export async function removeWebhook(id: string, options: CommonOptions): Promise<void> {
  await withFeatures(options, async ({ webhooks }) => {
    await webhooks.remove(id)
    say(options, { id }, `Webhook ${id} is removed.`)
  })
}

export async function replayWebhook(id: string, options: WebhookOptions): Promise<void> {
  const { since } = options
  if (since === undefined)
    throw new UsageError('give the start time with --since 2026-11-15T09:00Z or --since 36h')
  await withFeatures(options, async ({ webhooks, clock }) => {
    const queued = await webhooks.replay(id, timeFrom('--since', since, clock.now()))
    say(
      options,
      { queued },
      `${queued} ${queued === 1 ? 'event is' : 'events are'} being sent again, in order.`,
    )
  })
}

export async function testWebhook(id: string, options: CommonOptions): Promise<void> {
  await withFeatures(options, async ({ webhooks }) => {
    const { error, ...answer } = await webhooks.test(id, byOperator)
    if (error !== null) throw new UsageError(`webhook ${visible(id)} did not accept the test event: ${error}`)
    say(
      options,
      answer,
      `Webhook ${id} accepted the test event: it answered ${answer.status} in ${answer.ms} ms.`,
    )
  })
}

const eventsFrom = (text: string) =>
  text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
