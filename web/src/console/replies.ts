/** Replies of the service to staff: types of its own schemas. The roster's are in roster-replies.ts. */
import type { Static } from 'typebox'
import type {
  ClientAdded,
  ClientEntry,
  ClientPeople,
  ClientSummary,
  ClientWithSecret,
} from '../../../src/identity/clients/schemas.ts'
import type {
  ProviderEntry,
  ProviderTest as ProviderTestReply,
  SchoolRefusals,
} from '../../../src/identity/school-account/schemas.ts'
import type { StaffMember } from '../../../src/identity/staff/schemas.ts'
import type { DeliveryEntry } from '../../../src/messages/delivery/schemas.ts'
import type {
  EventEntry as EventOfFeed,
  EventPage as PageOfEvents,
} from '../../../src/messages/events/schemas.ts'
import type {
  WebhookWithSecret as NewSecret,
  WebhookDelivery as WebhookDeliveryEntry,
  WebhookEntry,
  WebhookTest as WebhookTestReply,
} from '../../../src/messages/webhooks/schemas.ts'
import type {
  ClassSummary as ClassSummaryEntry,
  OverviewReply,
  PersonDetail as PersonDetailReply,
  PersonEvent,
  PersonSummary as PersonSummaryEntry,
  TestMail,
} from '../../../src/operate/support/schemas.ts'
import type { Sort as SortName } from '../../../src/operate/support/sorts.ts'

export type Provider = Static<typeof ProviderEntry>
export type Refusal = Static<typeof SchoolRefusals>['refusals'][number]
export type ProviderTest = Static<typeof ProviderTestReply>

export type Overview = Static<typeof OverviewReply>

export type PersonSummary = Static<typeof PersonSummaryEntry>
export type PersonStatus = PersonSummary['status']
export const personStatuses = [
  'pending',
  'active',
  'inactive',
  'suspended',
  'closed',
] as const satisfies PersonStatus[]

export const sorts = [
  'name',
  '-name',
  'created',
  '-created',
  'updated',
  '-updated',
] as const satisfies SortName[]
export type Sort = SortName

export type PersonDetail = Static<typeof PersonDetailReply>
export type ClassSummary = Static<typeof ClassSummaryEntry>
export type Device = PersonDetail['sessions'][number]

export type FeedEvent = Static<typeof EventOfFeed>
export type EventPage = Static<typeof PageOfEvents>
/** An event of the feed, or one of a person, which may have a note. */
export type EventEntry = (FeedEvent & { readonly note?: null }) | Static<typeof PersonEvent>
export type EventType = EventEntry['type']

/** One mail and what became of it. */
export type Delivery = Static<typeof DeliveryEntry>
export type DeliveryState = Delivery['state']
export type DeliveryStep = Delivery['steps'][number]
export type StepName = DeliveryStep['step']

/** What the mail server said to a test mail. */
export type TestResult = Static<typeof TestMail>

export type Member = Static<typeof StaffMember>

export type Webhook = Static<typeof WebhookEntry>
export type WebhookDelivery = Static<typeof WebhookDeliveryEntry>
export type WebhookTest = Static<typeof WebhookTestReply>
export type WebhookWithSecret = Static<typeof NewSecret>
export type WebhookState = WebhookDelivery['state']

export type ApplicationSummary = Static<typeof ClientSummary>
export type Application = Static<typeof ClientEntry>
export type ApplicationAdded = Static<typeof ClientAdded>
export type ApplicationWithSecret = Static<typeof ClientWithSecret>
export type ApplicationPerson = Static<typeof ClientPeople>['people'][number]
