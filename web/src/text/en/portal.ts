import type { ProblemCode } from '../../http.ts'
import { accountText } from './account.ts'
import { signInText } from './sign-in.ts'
import { studentText } from './student.ts'

export const text = {
  loading: 'One moment…',
  /** In the page itself, for when no script arrives. */
  late: 'This page needs JavaScript, which is taking long to load.',
  skip: 'Skip to the content',
  language: 'Language',

  nav: {
    label: 'Main',
    home: (name: string) => `${name}, start page`,
    profile: 'Profile',
    classes: 'Classes',
    card: 'Card',
    calendar: 'Calendar',
    about: 'About me',
    account: 'My account',
    sessions: 'Devices',
    data: 'My data',
    signOut: 'Sign out',
  },

  footer: {
    about: (school: string | null) => `Chiron is the access service of ${school ?? 'the veterinary school'}.`,
    help: 'Help',
    privacy: 'Privacy',
    developers: 'For developers:',
    reference: 'API reference',
    mailbox: 'Mailbox',
    problems: 'Errors',
  },

  offline: 'You are offline. What you see may be out of date.',
  retry: 'Try again',
  retryIn: (time: string) => `You can try again in ${time}.`,
  cancel: 'Cancel',
  copy: 'Copy',
  copied: 'Copied',
  instance: (id: string) => `If you ask for help, quote this number: ${id}`,
  stale: 'This could not be refreshed. You are seeing an earlier version.',

  timesElsewhere: (day: string, time: string) =>
    `All times are in the school’s time zone. It is now ${time} there (${day}).`,

  staleSince: (time: string) => `As of ${time}. It could not be refreshed since then.`,

  problems: {
    unreachable: 'The service cannot be reached. Check your connection; nothing you typed is lost.',
    unavailable: 'The service is not available right now. Please try again in a moment.',
    'internal-error': 'Something went wrong on our side. Please try again.',
    'too-many-requests': 'Too many attempts in a short time.',
    timeout: 'That took too long. Please try again.',
    'invalid-request': 'Something in the form is not right. Please check it.',
    'malformed-json': 'Something went wrong on our side. Please try again.',
    'unsupported-version': 'This page is out of date. Please reload it.',
    unauthenticated: 'Please sign in again.',
    'invalid-token': 'Please sign in again.',
    'session-ended': 'You have been signed out. Please sign in again.',
    'otp-incorrect': 'That is not the right code.',
    'otp-unusable': 'This code can no longer be used. Ask for a new one.',
    forbidden: 'Your account does not have access to this.',
    'recent-sign-in-required': 'Please confirm that it is you with a new code.',
    'passkey-unusable': 'This passkey cannot be used. Please sign in with a code.',
    'passkey-exists': 'This device already has a passkey for your account.',
    'not-found': 'There is nothing here.',
    'method-not-allowed': 'Something went wrong on our side. Please try again.',
    conflict: 'That is not possible at the moment. Please reload the page and check.',
    'roster-moved-on': 'The roster has changed in the meantime. Please check again.',
    'body-too-large': 'That is too long.',
    'unsupported-media-type': 'Something went wrong on our side. Please try again.',
    'headers-too-large': 'Something went wrong on our side. Please try again.',
  } satisfies Record<ProblemCode, string> as Record<ProblemCode, string>,

  fields: {
    email: 'E-mail address',
    firstname: 'First name',
    lastname: 'Last name',
    wrongEmail: 'This does not look like an e-mail address. Example: ada@example.org',
    wrongName:
      'Please enter a name of 1 to 100 characters, with at least one letter and without /, @ or www.',
  },

  notFound: {
    title: 'Page not found',
    lead: 'The link may be old or mistyped.',
    home: 'Go to the start page',
  },

  broken: {
    title: 'Something went wrong',
    lead: 'There was an error on this page. Reloading it usually helps.',
    reload: 'Reload the page',
  },

  ...signInText,
  ...accountText,
  ...studentText,
}

export type Text = typeof text
