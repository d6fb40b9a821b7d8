import type { PersonStatus } from '../../console/replies.ts'
import type { Right } from '../../people.ts'
import { counted } from './console-counted.ts'
import { eventsText } from './console-events.ts'
import { peopleText } from './console-people.ts'
import { programsText } from './console-programs.ts'
import { rosterText } from './console-roster.ts'

export const text = {
  name: 'Console',

  nav: {
    home: (name: string) => `${name}, console, overview`,
    '': 'Overview',
    people: 'People',
    mail: 'Mail',
    roster: 'Roster',
    events: 'Events',
    refusals: 'Refused school accounts',
    providers: 'School accounts',
    webhooks: 'Webhooks',
    applications: 'Applications',
    staff: 'Staff',
  },

  toOverview: 'Back to the overview',

  signIn: {
    title: 'Sign in to the console',
    lead: 'For school staff. We send you a code by e-mail.',
    portal: 'Veterinarians and students sign in here',
    otherRole: 'The console is for staff',
    otherRoleLead: (name: string) =>
      `${name} is signed in to the portal in this browser. To use the console, sign out there and sign in as a member of staff.`,
    change: 'Sign out and sign in as staff',
    toPortal: 'Back to the portal',
  },

  rights: {
    support: 'Help desk',
    registrar: 'Registrar',
    admin: 'Administrator',
  } satisfies Record<Right, string> as Record<Right, string>,

  rightsMean: {
    support: 'people, their devices and their mail',
    registrar: 'the roster',
    admin: 'everything, including staff, events and webhooks',
  } satisfies Record<Right, string> as Record<Right, string>,

  nothingAllowed: 'Your rights do not cover this page. Ask an administrator.',
  more: 'Show more',
  none: 'Nothing here.',
  updated: (time: string) => `As of ${time}`,
  you: 'you',
  unnamed: 'no name',

  overview: {
    title: 'Overview',
    verdicts: {
      well: 'All is well',
      wrong: 'Something is wrong',
      'not-set-up': 'All is well, but not everything is set up',
    },
    wrong: (headline: string) => `Wrong: ${headline}`,
    states: { well: 'Well', wrong: 'Wrong', 'not-set-up': 'Not set up' },
    signIns: 'Sign-ins',
    lastHour: 'Last hour',
    lastDay: 'Last 24 hours',
    picture: (most: string) => `Sign-ins by hour over the last 24 hours; ${most} in the busiest hour`,
    hour: (from: string, count: string) => `${from}: ${count}`,
    noSignIns: 'Nobody has signed in during the last 24 hours.',
    mail: 'Mail',
    unsent: 'Waiting to be sent',
    oldest: 'Oldest waiting since',
    failed: 'Failed in 24 hours',
    mailGood: 'Mail is being sent.',
    mailWrong: { stuck: 'no mail is sent', failing: 'many mails do not arrive' },
    mailReasons: {
      caught:
        'No mail server is set: mails stay in the development mailbox. Set CHIRON_SMTP_URL to send them.',
      stuck:
        'No mail has been sent for several minutes, so nobody gets a code. Contact whoever runs the mail server now.',
      failing: 'Many mails could not be delivered. The list shows which and why.',
      slow: 'Mail is delayed. If this continues, contact whoever runs the mail server.',
      'some-failed': 'Some mails could not be delivered. The list shows which and why.',
    },
    toMail: 'See failed mails',
    attack: 'Attacks',
    attackWrong: 'somebody is guessing codes',
    calm: 'Nobody is guessing codes.',
    attacked:
      'Somebody is guessing codes. Until it stops, new codes have eight digits, and some people have to ask for a new code. Nobody is locked out, and you do not need to do anything. If it lasts for hours, tell whoever runs the service.',
    wrongCodes: 'Wrong codes in the last hour',
    wrongCodesDay: 'Wrong codes in the last day',
    ofThreshold: (count: string, threshold: string) => `${count} (attack threshold: ${threshold})`,
    toEvents: 'See the events',
    roster: 'Roster',
    since: 'Current since',
    checked: 'Last compared with a file',
    generation: 'Number',
    newestFile: 'Newest file at the source',
    nextFetch: 'Next fetch',
    rosterWrong: {
      'never-imported': 'no student can sign in',
      'no-students': 'no student can sign in',
      overdue: 'no newer roster comes',
      'fetch-stopped': 'the last roster was not imported',
      'fetch-late': 'the roster was not fetched',
    },
    rosterReasons: {
      'never-imported': 'No roster has been imported yet, so no student can sign in.',
      'no-students': 'There is no student on the roster, so no student can sign in.',
      overdue: 'No newer file has come for days. Make sure that the school’s system still exports it.',
      'fetch-stopped': 'The last fetch was held, refused or failed. The report sent by mail says what to do.',
      'fetch-late': 'The next fetch should have happened by now.',
    },
    rosterFine: 'Students and classes come from this roster.',
    toRoster: 'Go to the roster',
    webhooks: 'Webhooks',
    webhooksNone: 'There are no webhooks.',
    webhooksFine: 'No webhook is failing.',
    webhooksFail: (n: number, shown: string) =>
      counted(n, shown, 'webhook is not getting its events.', 'webhooks are not getting their events.'),
    toWebhooks: 'Go to webhooks',
    people: 'People',
    counted: (time: string) => `Counted at ${time}`,
    nobody: 'No people yet.',
    checkAgain: (n: number, shown: string) =>
      `${counted(n, shown, 'veterinarian was', 'veterinarians were')} verified, but the name or address has changed since. Verify again.`,
    toPeople: 'Find somebody',
    service: 'This service',
    version: 'Version',
    store: 'Store',
    schema: 'Schema',
  },

  roles: { veterinarian: 'Veterinarian', student: 'Student', staff: 'Staff' },
  rolesMany: { veterinarian: 'Veterinarians', student: 'Students' },

  statuses: {
    pending: 'not yet signed in',
    active: 'active',
    inactive: 'not active on the roster',
    suspended: 'suspended',
    closed: 'closed',
  } satisfies Record<PersonStatus, string> as Record<PersonStatus, string>,

  /** For several people, where the language has another form. */
  statusesMany: {
    pending: 'not yet signed in',
    active: 'active',
    inactive: 'not active on the roster',
    suspended: 'suspended',
    closed: 'closed',
  } satisfies Record<PersonStatus, string> as Record<PersonStatus, string>,

  ...peopleText,
  ...eventsText,
  ...programsText,
  ...rosterText,
}

export type ConsoleText = typeof text
