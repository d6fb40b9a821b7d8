import type { MailTexts } from './texts.ts'

const subject = (reference: string) => `About your sign-in (reference ${reference})`
const unasked = 'If it was not you who tried to sign in, you need do nothing: nobody has been let in.'

export const english: MailTexts = {
  code: {
    subject: (reference) => `Your sign-in code (reference ${reference})`,
    greeting: (name) => (name === null ? 'Hello,' : `Hello ${name},`),
    intro: 'Here is your code to sign in to Chiron:',
    reference: (reference) => `The screen that asks for it shows the reference ${reference}.`,
    lifetime: (minutes, until) => `The code works once, for ${minutes} minutes: until ${until}.`,
    never: 'Nobody from the school will ever ask you for it. Do not pass it on.',
    unasked:
      'If you did not ask for a code, ignore this message: without the code nobody can sign in as you.',
  },
  addressCode: {
    subject: (reference) => `Confirm your new address (reference ${reference})`,
    intro:
      'Somebody who is signed in to Chiron wants to use this address for their veterinarian’s account. If it is you, enter this code:',
    unasked: 'If it was not you, ignore this message: without the code nothing changes.',
  },
  notices: {
    'no-account': {
      subject,
      paragraphs: (url) => [
        'Somebody asked for a sign-in code for this address, but there is no veterinarian’s account here.',
        `If it was you, register first, then ask for a code: ${url}`,
        'You may have registered with another address, or more than seven days ago without signing in; then register again.',
        unasked,
      ],
    },
    'is-student': {
      subject,
      paragraphs: (url) => [
        'Somebody asked for a veterinarian’s sign-in code for this address, but the address is on the school’s roster as a student’s.',
        `If it was you, choose “Student” on the sign-in page, and ask for a code again: ${url}`,
        unasked,
      ],
    },
    'is-veterinarian': {
      subject,
      paragraphs: (url) => [
        'Somebody asked for a student’s sign-in code for this address, but the address belongs to a veterinarian’s account.',
        `If it was you, choose “Veterinarian” on the sign-in page, and ask for a code again: ${url}`,
        unasked,
      ],
    },
    'not-on-roster': {
      subject,
      paragraphs: () => [
        'Somebody asked for a student’s sign-in code for this address, but the address is not on the school’s roster.',
        'If it was you, use the address that the school has for you, or ask the registrar’s office to correct it.',
        unasked,
      ],
    },
    'not-staff': {
      subject,
      paragraphs: () => [
        'Somebody asked for a sign-in code to the staff’s console for this address, but the address belongs to no member of staff.',
        'If it was you, use the address that was entered for you, or ask whoever runs the service at the school to add it.',
        unasked,
      ],
    },
    'address-left': {
      subject: () => 'Your account has another address now',
      paragraphs: (_url, help) => [
        'The school has moved your veterinarian’s account from this address to another one, and has signed you out everywhere.',
        `If you did not ask for this, write to the school${help} at once.`,
      ],
    },
    'address-taken': {
      subject: () => 'Your account has this address now',
      paragraphs: (url, help) => [
        'The school has moved a veterinarian’s account to this address. Codes to sign in are sent here from now on.',
        `You can sign in here: ${url}`,
        `If you know of no such account, write to the school${help}.`,
      ],
    },
    'address-in-use': {
      subject: (reference) => `About your new address (reference ${reference})`,
      paragraphs: (url) => [
        'Somebody who is signed in to Chiron wanted to use this address for their account, but a veterinarian’s account has it already. So no code was made.',
        `If it was you, sign in with this address instead: ${url}`,
        'If it was not you, you need do nothing: nothing has changed.',
      ],
    },
    'address-moved': {
      subject: () => 'Your account has another address now',
      paragraphs: () => [
        'Your veterinarian’s account has been moved from this address to another one, by somebody who was signed in to it. All other devices have been signed out.',
        'If it was not you, write to the school at once.',
      ],
    },
    suspended: {
      subject,
      paragraphs: (_url, help) => [
        'Somebody asked for a sign-in code for this address, but its account is suspended, so no code was made.',
        `If you think that this is a mistake, write to the school${help}.`,
        unasked,
      ],
    },
  },
  webhookOff: ({ id, host, because, url }) => ({
    subject: `The webhook to ${host} is switched off`,
    paragraphs: [
      because === 'gone'
        ? `The program at ${host} answered 410 Gone, which means that it wants no more events. Its webhook is switched off (${id}).`
        : `The program at ${host} has not taken one event for three days. Its webhook is switched off (${id}), and what waited for it is dropped.`,
      'When the program works again, switch the webhook on in the console, under Webhooks. It then gets new events; “Send again” sends those that it missed.',
      `The console: ${url}`,
    ],
  }),
  footer: (name) =>
    `Sent by Chiron, the access service of ${name ?? 'the veterinary school'}. Replies to this message are not read.`,
  help: (where) => `Help: ${where}`,
  privacy: (where) => `Privacy: ${where}`,
}
