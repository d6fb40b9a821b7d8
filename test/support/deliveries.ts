/** The delivery timeline as tests look at it. */
import type { DeliveryView } from '../../src/messages/delivery/delivery.ts'
import type { Service } from './service.ts'
import { eventually } from './wait.ts'

/** Newest first. */
export async function deliveriesTo(service: Service, email: string): Promise<DeliveryView[]> {
  return (await service.app.parts.deliveries.find({ email, limit: 100 })).deliveries
}

export const stepsOf = (delivery: DeliveryView | undefined) => delivery?.steps.map(({ step }) => step)

/** Waits until the newest mail to this address is in this state. */
export function deliveredAs(service: Service, email: string, state: string): Promise<DeliveryView> {
  return eventually(`a mail to ${email} that is ${state}`, async () => {
    service.app.parts.outbox.wake()
    const [newest] = await deliveriesTo(service, email)
    return newest?.state === state && newest
  })
}
