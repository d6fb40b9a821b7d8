import type { MailTexts } from '../texts.ts'

const subject = (reference: string) => `About your sign-in (reference ${reference})`
const unasked = 'If you did not try to sign in, you do not need to do anything: nobody has signed in as you.'

export const text: MailTexts = {
  code: {
    subject: (reference) => `Your sign-in code (reference ${reference})`,
    greeting: (name) => (name === null ? 'Hello,' : `Hello ${name},`),
    intro: 'Here is your code to sign in to Chiron:',
    reference: (reference) => `The screen that asks for it shows the reference ${reference}.`,
    lifetime: (minutes, until) => `The code works once, for ${minutes} minutes: until ${until}.`,
    never: 'Nobody from the school will ever ask you for it. Do not share it.',
    unasked:
      'If you did not ask for a code, ignore this message: without the code nobody can sign in as you.',
  },
  addressCode: {
    subject: (reference) => `Confirm your new address (reference ${reference})`,
    intro:
      'Somebody who is signed in to Chiron wants to use this address for their veterinarian account. If this was you, enter this code:',
    unasked: 'If it was not you, ignore this message: without the code nothing changes.',
  },
  stepUpCode: {
    subject: (reference) => `Confirm that it is you (reference ${reference})`,
    intro:
      'Somebody who is signed in to your account wants to do something that needs a confirmation. If this is you, enter this code:',
    unasked:
      'If it was not you, do not share the code, sign in and sign out all other devices, and write to the school.',
  },
  notices: {
    'no-account': {
      subject,
      paragraphs: (url) => [
        'Somebody asked for a sign-in code for this address, but there is no veterinarian account for it.',
        `If it was you, register first, then ask for a code: ${url}`,
        'You may have registered with another address. If you registered more than seven days ago and never signed in, register again.',
        unasked,
      ],
    },
    'is-student': {
      subject,
      paragraphs: (url) => [
        'Somebody asked for a veterinarian’s sign-in code for this address, but the school’s roster lists it as a student’s.',
        `If it was you, choose “Student” on the sign-in page and ask for a new code: ${url}`,
        unasked,
      ],
    },
    'is-veterinarian': {
      subject,
      paragraphs: (url) => [
        'Somebody asked for a student’s sign-in code for this address, but the address belongs to a veterinarian account.',
        `If it was you, choose “Veterinarian” on the sign-in page and ask for a new code: ${url}`,
        unasked,
      ],
    },
    'not-on-roster': {
      subject,
      paragraphs: () => [
        'Somebody asked for a student’s sign-in code for this address, but the address is not on the school’s roster.',
        'If it was you, use the address that the school has on file for you, or ask the registrar’s office to correct it.',
        unasked,
      ],
    },
    'not-enabled': {
      subject,
      paragraphs: (_url, help) => [
        'Somebody asked for a student’s sign-in code for this address. The address is on the school’s roster, but signing in is not enabled for it, so no code was created.',
        `If it was you, ask the registrar’s office to enable it, or write to the school${help}.`,
        unasked,
      ],
    },
    'not-staff': {
      subject,
      paragraphs: () => [
        'Somebody asked for a sign-in code for the staff console for this address, but the address does not belong to a member of staff.',
        'If it was you, use the address that was registered for you, or ask whoever runs the service at the school to add this one.',
        unasked,
      ],
    },
    'address-left': {
      subject: () => 'Your account now has a different address',
      paragraphs: (_url, help) => [
        'The school has changed the address of your veterinarian account from this one to another and has signed you out everywhere.',
        `If you did not ask for this, write to the school${help} at once.`,
      ],
    },
    'address-taken': {
      subject: () => 'Your account now has this address',
      paragraphs: (url, help) => [
        'The school has moved a veterinarian account to this address. Sign-in codes will be sent here from now on.',
        `You can sign in here: ${url}`,
        `If you do not have such an account, write to the school${help}.`,
      ],
    },
    'address-in-use': {
      subject: (reference) => `About your new address (reference ${reference})`,
      paragraphs: (url) => [
        'Somebody who is signed in to Chiron wanted to use this address for their account, but another veterinarian account already has it, so no code was created.',
        `If it was you, sign in with this address instead: ${url}`,
        'If it was not you, you do not need to do anything: nothing has changed.',
      ],
    },
    'address-moved': {
      subject: () => 'Your account now has a different address',
      paragraphs: () => [
        'The address of your veterinarian account has been changed from this one to another by somebody who was signed in. All other devices have been signed out.',
        'If it was not you, write to the school at once.',
      ],
    },
    'passkey-added': {
      subject: () => 'A passkey was added to your account',
      paragraphs: (url, help) => [
        'A passkey was added to your account by somebody who was signed in. It can be used to sign in without a code.',
        `You can see your passkeys here, and remove them: ${url}`,
        `If it was not you, remove the passkey, sign out all other devices, and write to the school${help} at once.`,
      ],
    },
    'passkey-removed': {
      subject: () => 'A passkey was removed from your account',
      paragraphs: (url, help) => [
        'A passkey was removed from your account. It can no longer be used to sign in. You can always sign in with a code to this address.',
        `You can see your passkeys here: ${url}`,
        `If neither you nor the school did this, write to the school${help} at once.`,
      ],
    },
    suspended: {
      subject,
      paragraphs: (_url, help) => [
        'Somebody asked for a sign-in code for this address, but its account is suspended, so no code was created.',
        `If you think this is a mistake, write to the school${help}.`,
        unasked,
      ],
    },
  },
  webhookOff: ({ id, host, because, url }) => ({
    subject: `The webhook to ${host} has been switched off`,
    paragraphs: [
      because === 'gone'
        ? `The program at ${host} answered 410 Gone, which means that it no longer wants events. Its webhook has been switched off (${id}).`
        : `The program at ${host} has not accepted any event for three days. Its webhook has been switched off (${id}), and the events waiting for it have been dropped.`,
      'When the program works again, switch the webhook on in the console, under Webhooks. It then receives new events; “Send again” sends the ones it missed.',
      `The console: ${url}`,
    ],
  }),
  footer: (name) =>
    `Sent by Chiron, the access service of ${name ?? 'the veterinary school'}. Replies to this message are not read.`,
  help: (where) => `Help: ${where}`,
  privacy: (where) => `Privacy: ${where}`,
}
