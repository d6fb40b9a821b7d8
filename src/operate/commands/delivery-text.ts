/** Delivery records as text. */
import type { DeliveryView } from '../../messages/delivery/delivery.ts'
import { visible } from './command.ts'

type StepView = DeliveryView['steps'][number]

const meanings: Record<StepView['step'], (step: StepView) => string> = {
  queued: () => 'queued',
  deferred: ({ server, nextAt }) =>
    server === null ? 'waiting' : `deferred by ${server}; next attempt ${nextAt}`,
  handed: ({ server }) => `accepted by ${server}`,
  'not-sent': () => 'not sent',
  failed: ({ server }) => `refused by ${server}`,
  bounced: ({ hard, server }) =>
    `bounced ${hard ? 'permanently' : 'temporarily'}${server ? `, reported by ${server}` : ''}`,
  'wrong-code': () => 'wrong code entered',
  'right-code': () => 'opened: right code entered',
}

/** One line for the mail, and one for each step. */
export function timelineOf(delivery: DeliveryView): string[] {
  const { createdAt, mail, role, domain, state, deliveryId, userId, askedBy } = delivery
  const of = [
    mail ?? 'mail',
    `for a ${role}`,
    `at ${domain}`,
    userId && `(${userId})`,
    askedBy && `requested by ${askedBy}`,
  ].filter(Boolean)
  return [
    visible(`${createdAt}  ${state.padEnd(8)}  ${of.join(' ')}  ${deliveryId}`),
    ...delivery.steps.map((step) => `    ${visible(`${step.at}  ${stepText(step)}`)}`),
  ]
}

function stepText(step: StepView): string {
  const { reply, why } = step
  const words = [why, reply && `“${reply}”`].filter(Boolean).join('; ')
  return meanings[step.step](step) + (words && `: ${words}`)
}
